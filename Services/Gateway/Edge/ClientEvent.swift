import ParlorContracts
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorJSON
import ParlorReactor
import ParlorSocketIO

/// A socket's event, from its arrival to its answer. A class, so that each closure captures only one reference. It
/// stays on its loop.
///
/// It is a state machine, not a task: thousands are in progress, and each task has four kilobytes, which every step
/// would load into the CPU cache again.
final class ClientEvent {
    let name: String
    /// Its kind, if the gateway handles it.
    let own: OwnEvent?
    /// The id of the ack; nil if the client waits for none.
    let ackID: Int?
    let socket: ClientSocket
    let origin: RequestOrigin
    /// The approximate memory that it takes.
    let size: Int
    /// The bytes that it counts as written: the memory of its message, or the message's length if that is more.
    let writtenBytes: Int
    /// Its first argument, and nothing else of its message.
    private let argument: JSONValue?
    /// The room that it names, within which events keep their order.
    let roomID: String?
    /// The time at which it started.
    var began = LoopInstant(nanoseconds: 0)

    private var admitted: Admitted?
    /// True while its checks are not answered.
    var isBeingChecked = false
    /// The error of a check that denies it.
    var denial: ServiceError?
    /// True once the call that sends its request has returned.
    var isSent = false

    /// What is known once the rate limits have admitted it.
    private struct Admitted {
        let declared: SocketEvent
        let pass: LimitPass
        let data: JSONValue
    }

    private static let overhead = 256

    /// - Parameter bytes: the size of its message; 0 if it is not known.
    init(_ event: SocketIOEvent, ofBytes bytes: Int, of socket: ClientSocket, origin: RequestOrigin) {
        name = event.name
        own = OwnEvent(rawValue: name)
        ackID = event.ackID
        // The arguments keep everything alive that arrived with them: the message, or the whole body of a POST.
        argument = event.arguments.first?.detached
        roomID = argument?["roomId"]?.string
        self.socket = socket
        self.origin = origin
        let message = Self.overhead + name.utf8.count + (argument?.bytes.count ?? 0)
        size = message + (roomID?.utf8.count ?? 0)
        writtenBytes = max(message, bytes)
    }

    /// - Throws: `malformed_request`.
    var payload: JSONValue {
        get throws(ServiceError) {
            guard let argument, argument.kind == .object else {
                throw ServiceError(.malformedRequest, "The event's payload has to be a JSON object.")
            }
            return argument
        }
    }

    // MARK: For a service

    /// Notes that a service handles it. The members below are known from then on.
    ///
    /// - Throws: `malformed_request`.
    func admit(as declared: SocketEvent, _ pass: LimitPass) throws(ServiceError) {
        admitted = Admitted(declared: declared, pass: pass, data: try payload)
    }

    var data: JSONValue { known.data }
    var subject: String { known.declared.subject }
    var answer: Route.Answer { known.declared.answer }
    var pass: LimitPass { known.pass }

    private var known: Admitted {
        guard let admitted else { preconditionFailure("\(name) was not admitted") }
        return admitted
    }

    /// Writes the ack's members.
    func write(_ reply: Reply, to json: inout JSONWriter) {
        let declared = known.declared
        let data = declared.ackCopies.isEmpty ? nil : reply.data.object
        for copy in declared.ackCopies { if let value = data?[copy.from] { json.member(copy.name, value) } }
        if reply.isDuplicate { json.member("duplicate", true) }
        if let name = declared.ackName { json.member(name, reply.data) } else { json.members(of: reply.data) }
    }
}
