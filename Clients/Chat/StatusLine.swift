import Observation
import ParlorClient

/// The status in a few words: the connection's, unless there is a failure.
@MainActor @Observable
final class StatusLine {
    /// The last failure other than the connection's; empty if there is none.
    var alert = ""
    @ObservationIgnored private let client: RoomsClient

    init(_ client: RoomsClient) { self.client = client }

    /// - Parameter failure: the reason why the data shown may differ from the server's.
    func text(with failure: ClientFailure? = nil) -> String {
        if !alert.isEmpty { return alert }
        return switch client.connection {
        case .ended(.signedOut): "signed out: quit, and sign in again"
        case .ended(let failure): "\(failure.text) (in a list, r connects again)"
        case .waiting(.offline): failure?.text ?? "offline"
        case .waiting(let reason): failure?.text ?? reason.text
        case .idle, .connecting: failure?.text ?? "connecting…"
        case .connected: failure?.text ?? "connected"
        }
    }

    /// Restarts a connection that does not reconnect by itself.
    func connectAgain() async {
        if case .ended = client.connection { await client.start() }
    }
}
