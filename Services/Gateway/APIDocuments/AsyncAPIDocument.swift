import ParlorContracts
import ParlorJSON

/// `asyncapi.json`: the events of sockets (AsyncAPI 3.0). There is a channel for events from clients, one for acks, and
/// one for each audience of events to clients.
///
/// Like `OpenAPIDocument`, it is valid whatever a service announces.
struct AsyncAPIDocument {
    private let contents: APIContents
    private var schemas: ComponentSchemas { contents.schemas }

    /// An event in a channel.
    private struct Message {
        /// Its key, in the channel and among operations.
        let key: String
        let event: String
        let service: String
        let summary: String
        let payload: Schema
        /// The schema of a successful ack; nil for an event to clients.
        var ack: Schema?
    }

    private struct Channel {
        let name: String
        let text: String
        var messages: [Message]
    }

    init(_ contents: APIContents) { self.contents = contents }

    var json: JSONValue {
        let (client, audiences) = (clientChannel, audienceChannels)
        return JSONWriter.object(reservingCapacity: 64 << 10) { json in
            json.member("asyncapi", "3.0.0")
            APIContents.writeInfo(Self.introduction, to: &json)
            json.member("defaultContentType", "application/json")
            json.member("servers", object: Self.writeServer)
            json.member(
                "channels",
                object: { json in
                    write(client, to: &json) { $0.payload }
                    write(Channel(name: Self.acks, text: Self.ackText, messages: client.messages), to: &json) {
                        .anyOf([$0.ack ?? .any, APIError.ack])
                    }
                    for channel in audiences { write(channel, to: &json) { $0.payload } }
                })
            json.member(
                "operations",
                object: { json in
                    for message in client.messages { write(message, of: client, to: &json) }
                    for channel in audiences where !channel.messages.isEmpty {
                        json.member(
                            channel.name,
                            object: {
                                $0.member("action", "send")
                                Self.writeReference("channel", "#/channels/\(channel.name)", to: &$0)
                            })
                    }
                })
            json.member("components", object: schemas.write)
        }
    }

    private static let introduction = """
        Socket.IO 5 over Engine.IO 4, at `/socket.io/`, in the default namespace. The token is `auth: {token}` in \
        CONNECT, `?token=` or an `Authorization` header. A message is an event of the same name. Its payload is the \
        event's only argument. docs/api-sockets.md has the rules that a schema cannot express.
        """
    private static let acks = "acks"
    private static let ackText =
        "The answer to an event with an ack: one object. Without an ack, a failure is `request:error`."

    private static func writeServer(to json: inout JSONWriter) {
        json.member(
            "parlor",
            object: { json in
                json.member("host", "{host}")
                json.member("pathname", "/socket.io/")
                json.member("protocol", "socket.io")
                json.member(
                    "variables",
                    object: { $0.member("host", object: { $0.member("default", "localhost:8080") }) })
            })
    }

    // MARK: Messages

    private var clientChannel: Channel {
        var channel = Channel(name: "client", text: "What a client sends.", messages: [])
        var keys = UniqueNames()
        var total = 0
        for offer in contents.offers {
            for event in offer.manifest.socketEvents {
                let request = offer.request(event.subject)
                let message = Message(
                    key: Self.key(event.event, in: &keys), event: event.event, service: offer.service,
                    summary: request?.summary ?? "", payload: request?.takes ?? .object(),
                    ack: ack(of: event, request, in: offer))
                total += size(of: message)
                guard total < OpenAPIDocument.maxBytes else { return channel }
                channel.messages.append(message)
            }
        }
        return channel
    }

    /// Returns the schema of a successful ack. The gateway builds the ack from the service's reply.
    private func ack(of event: SocketEvent, _ request: RequestDescription?, in offer: APIContents.Offer) -> Schema {
        let success = Schema.Member("success", .constant(JSONValue(true)))
        guard let request else { return .object([success]) }
        let given = request.gives.map { schemas.members(of: $0, in: offer.service) } ?? []
        var members = [success]
        for copy in event.ackCopies where copy.name != "success" {
            guard let member = given.first(where: { $0.name == copy.from }) else { continue }
            members.append(Schema.Member(copy.name, member.schema, isRequired: member.isRequired))
        }
        if request.statuses.count > 1 {
            let repeated = Schema.boolean.noted(
                "True if this repeats the answer to an earlier request with the same key.")
            members.append(Schema.Member("duplicate", repeated, isRequired: false))
        }
        guard let gives = request.gives else { return .object(members) }
        if let name = event.ackName { return .object(members + [Schema.Member(name, gives)]) }
        return .allOf([.object(members), gives])
    }

    private var audienceChannels: [Channel] {
        var channels = [
            Channel(name: "room", text: "To the sockets that joined the room.", messages: []),
            Channel(
                name: "everyone",
                text: "To everyone connected, or with GLOBAL_SCOPE=participants to the room's participants.",
                messages: []),
            Channel(name: "person", text: "To all sockets of one person.", messages: []),
            Channel(name: "socket", text: "To one socket.", messages: []),
        ]
        var keys = [UniqueNames](repeating: UniqueNames(), count: channels.count)
        var seen: Set<String> = []
        var total = 0
        for offer in contents.offers {
            for event in offer.description.events {
                guard let place = channels.firstIndex(where: { $0.name == event.audience.rawValue }),
                    seen.insert("\(event.audience.rawValue) \(event.event)").inserted
                else { continue }
                let message = Message(
                    key: Self.key(event.event, in: &keys[place]), event: event.event, service: offer.service,
                    summary: event.summary, payload: event.data)
                total += size(of: message)
                guard total < OpenAPIDocument.maxBytes else { return channels }
                channels[place].messages.append(message)
            }
        }
        return channels
    }

    /// Returns the approximate size in the document.
    private func size(of message: Message) -> Int {
        func size(of schema: Schema) -> Int {
            JSONWriter.value { schemas.write(schema, of: message.service, to: &$0) }.bytes.count
        }
        return size(of: message.payload) + (message.ack.map(size) ?? 0) + 2 * message.summary.utf8.count + 1024
    }

    /// Returns a key for an event: `message:new` becomes `message.new`, as a key has neither colons nor slashes.
    private static func key(_ event: String, in keys: inout UniqueNames) -> String {
        let plain = event.unicodeScalars.reduce(into: "") { text, scalar in
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            text += isPlain || scalar == "_" || scalar == "-" ? String(scalar) : "."
        }
        return keys.name(for: plain)
    }

    // MARK: JSON

    private func write(_ channel: Channel, to json: inout JSONWriter, _ payload: (Message) -> Schema) {
        json.member(
            channel.name,
            object: { json in
                json.member("address", "/")
                json.member("description", channel.text)
                json.member(
                    "messages",
                    object: { json in
                        for message in channel.messages {
                            json.member(
                                message.key,
                                object: {
                                    $0.member("name", message.event)
                                    if !message.summary.isEmpty { $0.member("summary", message.summary) }
                                    $0.member("tags", array: { $0.object { $0.member("name", message.service) } })
                                    $0.name("payload")
                                    schemas.write(payload(message), of: message.service, to: &$0)
                                })
                        }
                    })
            })
    }

    /// Writes the operation of an event from clients.
    private func write(_ message: Message, of channel: Channel, to json: inout JSONWriter) {
        func writeMessages(of channel: String, to json: inout JSONWriter) {
            Self.writeReference("channel", "#/channels/\(channel)", to: &json)
            json.member(
                "messages",
                array: { $0.object { $0.member("$ref", "#/channels/\(channel)/messages/\(message.key)") } })
        }
        json.member(
            "\(channel.name).\(message.key)",
            object: { json in
                json.member("action", "receive")
                if !message.summary.isEmpty { json.member("summary", message.summary) }
                writeMessages(of: channel.name, to: &json)
                json.member("reply", object: { writeMessages(of: Self.acks, to: &$0) })
            })
    }

    private static func writeReference(_ name: String, _ target: String, to json: inout JSONWriter) {
        json.member(name, object: { $0.member("$ref", target) })
    }
}
