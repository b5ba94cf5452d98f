import Contracts
import GatewayLimits
import JSON
import Reactor

/// A socket's event while its service handles it. It is a class, so that each closure captures only one
/// reference. It stays on its loop.
///
/// It is a state machine, not a task: thousands are in progress, and each task has four kilobytes, which every step
/// would load into the CPU cache again.
final class ServiceEvent {
    let request: SocketRequest
    let session: SocketSession
    let began: LoopInstant
    let declared: SocketEvent
    let pass: LimitPass
    let data: JSONValue
    /// The room that it names, within which events keep their order.
    let roomID: String?
    /// True while its checks are not answered.
    var isBeingChecked = false
    /// The error of a check that denies it.
    var denial: ServiceError?
    /// True once the call that sends the request has returned.
    var isSent = false

    init(
        _ request: SocketRequest, of session: SocketSession, since began: LoopInstant, _ declared: SocketEvent,
        _ pass: LimitPass, _ data: JSONValue
    ) {
        self.request = request
        self.session = session
        self.began = began
        self.declared = declared
        self.pass = pass
        self.data = data
        roomID = data["roomId"]?.string
    }

    /// Returns the ack's members.
    func members(of reply: Reply) -> JSONValue {
        JSONWriter.object(reservingCapacity: reply.data.bytes.count + 192) {
            let data = declared.ackCopies.isEmpty ? nil : reply.data.object
            for copy in declared.ackCopies { if let value = data?[copy.from] { $0.member(copy.name, value) } }
            if reply.isDuplicate { $0.member("duplicate", true) }
            if let name = declared.ackName { $0.member(name, reply.data) } else { $0.members(of: reply.data) }
        }
    }
}
