import Contracts
import JSON
import MessageBus
import Testing

extension MessageBus {
    /// Stands in for the messaging service, and answers which messages were not deleted. `messages` has these by room:
    /// `["room-1": ["message-1"]]`. Any other request to that service fails the test.
    ///
    /// - Returns: the subscription. After its `cancel()` the service cannot be reached, and other messages can be served.
    @discardableResult
    public func serveMessages(_ messages: [String: [String]]) throws -> BusSubscription {
        try respond(to: "messaging.>", queue: "messaging") { request in
            guard request.subject == Subject.existingMessages,
                let asked = request.data["messageIds"]?.array?.map(\.string)
            else {
                Issue.record("an unexpected request: \(request.subject)")
                return request.reply(ServiceError(.internal, "unexpected").json)
            }
            let known = request.data["roomId"]?.string.map { messages[$0] ?? [] } ?? messages.values.flatMap(\.self)
            let existing = JSONWriter.object {
                $0.member("messageIds", array: { for id in known where asked.contains(id) { $0.string(id) } })
            }
            request.reply(Reply(.ok, existing).json)
        }
    }
}
