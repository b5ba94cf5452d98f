import Observation
import RoomsClient

/// How things stand, in a few words: the connection, unless there is something worse to say.
@MainActor @Observable
final class StatusLine {
    /// What went wrong beside the connection; empty if nothing has.
    var alert = ""
    @ObservationIgnored private let client: RoomsClient

    init(_ client: RoomsClient) { self.client = client }

    var text: String {
        if !alert.isEmpty { return alert }
        return switch client.connection {
        case .idle, .connecting: "connecting…"
        case .connected: "connected"
        case .waiting(.offline): "offline"
        case .waiting(let failure): failure.text
        case .ended(.signedOut): "signed out: quit, and sign in again"
        case .ended(let failure): "\(failure.text) (in a list, r connects again)"
        }
    }

    /// Of what does not come back by itself.
    func connectAgain() async {
        if case .ended = client.connection { await client.start() }
    }
}
