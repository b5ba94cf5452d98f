import Contracts
import Edge
import JSON
import Reactor
import ServiceKit
import SocketIO

/// Answers sockets' events: in the ack if one is requested; otherwise a failure is emitted as
/// `request:error`.
struct EventAnswers: Sendable {
    let metrics: EdgeMetrics
    let log: Logger

    /// Sends exactly one object in the ack: success with these members, or the failure. Without an ack it sends only a
    /// failure.
    func answer(
        _ request: SocketRequest, of session: SocketSession, since began: LoopInstant,
        _ outcome: Result<JSONValue?, ServiceError>
    ) {
        switch outcome {
        case .success(let members):
            guard session.isConnected, let id = request.event.ackID else { break }
            session.socket.ack(
                id,
                JSONWriter.object(reservingCapacity: (members?.bytes.count ?? 0) + 32) {
                    $0.member("success", true)
                    if let members { $0.members(of: members) }
                })
        case .failure(let error):
            if error.code.isRetryable, error.code != .rateLimited { metrics.failedAcks.add() }
            guard session.isConnected else { break }
            fail(request.event, error, to: session.socket, request: request.origin.id)
        }
        metrics.acks.observe(.now() - began)
    }

    /// - Parameter requestID: the id of its lines in the logs; an event that is refused before it is received
    ///   has none.
    func fail(_ event: SocketIOEvent, _ error: ServiceError, to socket: Socket, request requestID: String = "") {
        metrics.note(error)
        log.noteRefusal(error, requestID, of: event.name)
        if let id = event.ackID {
            socket.ack(
                id,
                JSONWriter.object {
                    $0.member("success", false)
                    Self.write(error, withRetry: true, to: &$0)
                })
        } else {
            Self.report(error, of: event.name, to: socket)
        }
    }

    /// Emits an error as `request:error`.
    static func report(_ error: ServiceError, of event: String, to socket: Socket) {
        socket.emit(
            "request:error",
            JSONWriter.object {
                $0.member("event", event)
                write(error, withRetry: false, to: &$0)
            })
    }

    private static func write(_ error: ServiceError, withRetry: Bool, to json: inout JSONWriter) {
        json.member(
            "error",
            object: {
                $0.member("code", error.code.rawValue)
                $0.member("message", error.message)
                if withRetry { $0.member("retryable", error.code.isRetryable) }
            })
    }
}
