import Observation
import RoomsClient

/// How things stand, in a few words: the connection, unless there is something worse to say.
@MainActor @Observable
final class StatusLine {
    /// What went wrong beside the connection; empty if nothing has.
    var alert = ""
    @ObservationIgnored private let client: RoomsClient

    init(_ client: RoomsClient) { self.client = client }

    /// - Parameter failure: why what is shown beside may not be what the server has.
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

    /// Of what does not come back by itself.
    func connectAgain() async {
        if case .ended = client.connection { await client.start() }
    }
}
