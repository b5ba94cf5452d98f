import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorAPIDocuments

@Suite("asyncapi.json")
struct AsyncAPIDocumentTests {
    private let message = Schema.named("Note", .object(["id": .id, "seq": .integer, "text": .string]))
    private let manifest = Manifest(
        service: "notes",
        socketEvents: [
            SocketEvent("note:send", "notes.send", ackName: "note", ackCopies: [("noteId", "id"), ("x", "none")]),
            SocketEvent("note:read", "notes.read"), SocketEvent("note:drop", "notes.drop"),
            SocketEvent("note.send", "notes.other"),
        ])

    private func document(_ description: ServiceDescription?) throws -> JSONValue {
        let contents = OpenAPIDocumentTests.contents([manifest], description.map { ["notes": $0] } ?? [:])
        return try JSONValue(parsing: Array(AsyncAPIDocument(contents).json.bytes))
    }

    private var description: ServiceDescription {
        ServiceDescription(
            requests: [
                "notes.send": RequestDescription(
                    "Sends.", takes: .object(["text": .string]), gives: message, statuses: [.created, .ok]),
                "notes.read": RequestDescription("Reads.", gives: .object(["count": .integer])),
                "notes.drop": RequestDescription("Drops."),
            ],
            events: [
                EventDescription("note:new", to: .room, "New.", .object(["note": message])),
                EventDescription("note:new", to: .everyone, "New.", .object(["noteId": .id])),
                EventDescription("note:new", to: .room, "Again.", .any),
            ])
    }

    @Test("an event from clients is received, and answered in the channel of acks; keys are unique")
    func operations() throws {
        let document = try document(nil)
        let client = try #require(document["channels"]?["client"]?["messages"]?.object)
        #expect(client.names == ["note.send", "note.read", "note.drop", "note.send-2"])
        #expect(client["note.send-2"]?["name"]?.string == "note.send")
        let send = try #require(document["operations"]?["client.note.send"])
        #expect(send["action"]?.string == "receive")
        #expect(send["messages"]?.text == ##"[{"$ref":"#/channels/client/messages/note.send"}]"##)
        #expect(send["reply"]?["messages"]?.text == ##"[{"$ref":"#/channels/acks/messages/note.send"}]"##)
        let ack = document["channels"]?["acks"]?["messages"]?["note.read"]?["payload"]?["anyOf"]?.array
        #expect(ack?.first?["properties"]?.text == #"{"success":{"const":true}}"#)
        #expect(ack?.last?["$ref"]?.string == "#/components/schemas/AckFailure")
    }

    @Test("an ack has the reply's data as the gateway writes it")
    func acks() throws {
        let acks = try #require(try document(description)["channels"]?["acks"]?["messages"])
        func success(_ event: String) -> JSONValue? { acks[event]?["payload"]?["anyOf"]?.array?.first }
        let send = success("note.send")?["properties"]?.object
        #expect(send?.names == ["success", "noteId", "duplicate", "note"])
        #expect(send?["noteId"]?["type"]?.string == "string")
        #expect(send?["note"]?["$ref"]?.string == "#/components/schemas/notes.Note")
        #expect(success("note.send")?["required"]?.text == #"["success","noteId","note"]"#)
        let read = success("note.read")?["allOf"]?.array
        #expect(read?.last?["properties"]?.text == #"{"count":{"type":"integer"}}"#)
        #expect(success("note.drop")?["properties"]?.object?.names == ["success"])
    }

    @Test("an event to clients is in the channel of its audience, once")
    func audiences() throws {
        let document = try document(description)
        let room = document["channels"]?["room"]?["messages"]
        #expect(room?.object?.names == ["note.new"] && room?["note.new"]?["summary"]?.string == "New.")
        #expect(document["channels"]?["everyone"]?["messages"]?["note.new"]?["name"]?.string == "note:new")
        #expect(document["operations"]?["room"]?["action"]?.string == "send")
        #expect(document["operations"]?["person"] == nil, "nothing is sent there")
    }
}
