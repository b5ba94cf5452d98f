import Observation
import ParlorClient

/// The status in a few words: a failure if there is one, otherwise the state of the connection.
@MainActor @Observable
final class StatusLine {
    /// The last failure that does not concern the connection; empty if there is none.
    var alert = ""
    @ObservationIgnored private let client: RoomsClient

    init(_ client: RoomsClient) { self.client = client }

    /// Returns the status.
    ///
    /// - Parameter failure: why the data on the screen may be outdated.
    func text(with failure: ClientFailure? = nil) -> String {
        if !alert.isEmpty { return alert }
        return switch client.connection {
        case .ended(.signedOut): "signed out: quit, and sign in again"
        case .ended(let failure): "\(failure.localizedDescription) (press r in a list to reconnect)"
        case .waiting(.offline): failure?.localizedDescription ?? "offline"
        case .waiting(let reason): failure?.localizedDescription ?? reason.localizedDescription
        case .idle, .connecting: failure?.localizedDescription ?? "connecting…"
        case .connected: failure?.localizedDescription ?? "connected"
        }
    }

    /// Connects again if the connection has ended for good, and so does not reconnect by itself.
    func connectAgain() async {
        if case .ended = client.connection { await client.start() }
    }
}
