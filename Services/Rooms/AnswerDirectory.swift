import Contracts
import JSON
import MessageBus
import ServiceKit

/// Asks the messaging service whether somebody was ever written to.
struct AnswerDirectory: Sendable {
    let bus: any MessageBus

    /// Whether anybody else has ever written in one of these rooms of a person's.
    ///
    /// - Throws: `service_unavailable` if Messaging is away.
    func hasAnswer(to personID: String, in roomIDs: [String], _ context: BusContext) async throws(ServiceError) -> Bool
    {
        let question = JSONWriter.object(reservingCapacity: roomIDs.count * 40 + 64) {
            $0.member("userId", personID)
            $0.member("roomIds", array: { for id in roomIDs { $0.string(id) } })
        }
        let reply = try await bus.ask("messaging.answered", question, context, of: "Messaging")
        guard let isAnswered = reply.data["isAnswered"]?.bool else { throw .noAnswer }
        return isAnswered
    }
}
