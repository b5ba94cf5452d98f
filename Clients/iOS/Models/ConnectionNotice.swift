import Observation
import ParlorClient

/// What the screens say about the connection.
///
/// A connection that is made within a second is not mentioned, so that the screens do not move each time the app is
/// opened. Once a connection is lost, the notice stays until there is one again, also while the client tries.
@MainActor @Observable
final class ConnectionNotice {
    enum State: Equatable {
        case connecting
        case waiting(ClientFailure)
        case ended(ClientFailure)
    }

    /// The time before a connection that is being made is mentioned.
    static let patience: Duration = .seconds(1)

    /// Nil while there is nothing to say.
    private(set) var state: State?
    @ObservationIgnored private let sleep: (Duration) async throws -> Void

    /// - Parameter sleep: waits, until the task is cancelled; for tests.
    init(sleep: @escaping (Duration) async throws -> Void = { try await Task.sleep(for: $0) }) { self.sleep = sleep }

    /// Takes the client's state. Cancel the call when the state changes again.
    func follow(_ connection: RoomsClient.Connection) async {
        switch connection {
        // Idle is a client in the background. On the return, it gets its second like a new one.
        case .connected, .idle: state = nil
        case .waiting(let failure): state = .waiting(failure)
        case .ended(let failure): state = .ended(failure)
        case .connecting:
            guard state == nil else { return }
            // Cancelled if the state changes first.
            do { try await sleep(Self.patience) } catch { return }
            state = .connecting
        }
    }

    /// Says that the client connects, because the person has asked for it.
    func noteRequest() { state = .connecting }
}
