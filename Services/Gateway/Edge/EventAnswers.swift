import ParlorContracts
import ParlorEdge
import ParlorJSON
import ParlorReactor
import ParlorServiceKit
import ParlorSocketIO

/// Answers sockets' events: in the ack if one is requested; otherwise a failure is emitted as
/// `request:error`.
struct EventAnswers: Sendable {
    let metrics: EdgeMetrics
    let log: Logger

    /// Sends success in the ack, with these members, if the client waits for one.
    ///
    /// - Parameter capacity: the expected length of the members.
    func succeed(_ event: ClientEvent, reserving capacity: Int, _ members: (inout JSONWriter) -> Void) {
        metrics.acks.observe(.now() - event.began)
        guard event.socket.isConnected, let id = event.ackID else { return }
        event.socket.socket.send(
            .ack(id, reservingCapacity: capacity + 128) {
                $0.member("success", true)
                members(&$0)
            })
    }

    func fail(_ event: ClientEvent, _ error: ServiceError) {
        metrics.acks.observe(.now() - event.began)
        if error.code.isRetryable, error.code != .rateLimited { metrics.failedAcks.add() }
        guard event.socket.isConnected else { return }
        fail(event.name, event.ackID, error, to: event.socket.socket, request: event.origin.id)
    }

    /// Answers an event that is refused before it starts.
    ///
    /// - Parameter requestID: the id of its lines in the logs; an event that is refused before it is received
    ///   has none.
    func fail(_ event: SocketIOEvent, _ error: ServiceError, to socket: Socket, request requestID: String = "") {
        fail(event.name, event.ackID, error, to: socket, request: requestID)
    }

    private func fail(_ name: String, _ ackID: Int?, _ error: ServiceError, to socket: Socket, request id: String) {
        metrics.note(error)
        log.noteRefusal(error, id, of: name)
        guard let ackID else { return Self.report(error, of: name, to: socket) }
        socket.send(
            .ack(ackID, reservingCapacity: 256) {
                $0.member("success", false)
                Self.write(error, withRetry: true, to: &$0)
            })
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
