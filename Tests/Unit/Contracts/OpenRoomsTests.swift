import ParlorContracts
import ParlorJSON
import Testing

@Suite("Encoding of open rooms")
struct OpenRoomsTests {
    private let request = OpenRoomsRequest(
        log: "messaging",
        members: [.init(roomID: "r1", userID: "ada"), .init(roomID: "r2", userID: "ben")])

    @Test("a request and its reply decode as they were encoded")
    func roundTrip() {
        #expect(OpenRoomsRequest(request.json) == request)
        let sockets = [[SocketEvidence(age: 5, confirmed: 7), SocketEvidence(age: 60_000, confirmed: 0)], []]
        #expect(request.sockets(in: OpenRoomsRequest.reply(sockets)) == sockets)
    }

    @Test(
        "malformed requests and replies are refused",
        arguments: ["null", "[]", "{}", #"{"stream":"m"}"#, #"{"stream":"m","rooms":[{"roomId":"r"}]}"#, #"[[[1,2]]]"#])
    func malformed(text: String) throws {
        let json = try JSONValue(parsing: text)
        #expect(OpenRoomsRequest(json) == nil)
        #expect(request.sockets(in: json) == nil)
    }
}
