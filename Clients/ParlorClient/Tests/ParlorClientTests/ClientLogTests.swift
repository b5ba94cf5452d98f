import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Keeps what is logged.
private final class Entries: Sendable {
    private let kept = Guarded<[ClientLog.Entry]>([])

    var all: [ClientLog.Entry] { kept.withLock { $0 } }
    var log: ClientLog { ClientLog { [kept] entry in kept.withLock { $0.append(entry) } } }

    func texts(_ category: ClientLog.Category) -> [String] { all.filter { $0.category == category }.map(\.text) }
}

@MainActor
@Suite("ClientLog", .timeLimit(.minutes(1)))
struct ClientLogTests {
    private let clock = TestClock()
    private let temporary = TemporaryFolder()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private let device: ScriptedDevice
    private let entries = Entries()

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada-by-name"), server.addPerson("ben-by-name"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id)
        device = server.makeDevice()
    }

    private func makeClient(tokens: SessionTokens? = nil, sockets: (any SocketTransport)? = nil) throws -> RoomsClient {
        var settings = RoomsClient.Settings()
        settings.log = entries.log
        let tokens =
            try tokens
            ?? SessionTokens(
                keptIn: MemorySessionStore(try server.makeSession(of: ada)), accounts: AccountsAPI(transport: device),
                clock: clock, log: entries.log)
        return device.makeClient(
            of: ada, folder: temporary.url, tokens: tokens, sockets: sockets, settings: settings)
    }

    private func connect(_ client: RoomsClient) async {
        await client.enterForeground()
        await lookUntil { client.connection == .connected && !client.isBehind && client.rooms.isLoaded }
    }

    @Test("connections: connected, caught up with the number of events, disconnected with the reason, stopped")
    func connections() async throws {
        let client = try makeClient()
        await connect(client)
        device.setAirplaneMode(true)
        await lookUntil { client.connection != .connected }
        try server.post("missed", in: roomID, by: ben.id)
        device.setAirplaneMode(false)
        await connect(client)
        await client.stop()
        await lookUntil { client.connection == .idle }
        let texts = entries.texts(.connection)
        #expect(texts.prefix(2) == ["connecting", "connected transport=websocket"])
        #expect(texts.contains("caught up events=0 whole=false"))
        #expect(texts.contains { $0.hasPrefix("disconnected code=offline reason=") })
        #expect(texts.contains("caught up events=1 whole=true"))
        #expect(texts.last == "stopped")
    }

    @Test("a fallback to polling is logged once")
    func polling() async throws {
        struct Blocked: SocketTransport {
            func connect(to url: URL) async throws -> any SocketConnection { throw ClientFailure.offline("blocked") }
        }
        let fallback = FallbackTransport(webSockets: Blocked(), polling: device, clock: clock)
        let client = try makeClient(sockets: fallback)
        await connect(client)
        device.dropSockets()
        await lookUntil { client.connection != .connected }
        await connect(client)
        #expect(entries.all.filter { $0.event == "polling, without a WebSocket" }.map(\.level) == [.warning])
        #expect(entries.texts(.connection).contains("connected transport=polling"))
        await client.stop()
    }

    @Test("sessions: refreshed, not refreshed with the reason, and ended by the server")
    func sessions() async throws {
        let client = try makeClient()
        await connect(client)
        server.expireTokens()
        _ = try await client.api.me()
        #expect(entries.texts(.session) == ["refreshed"])
        server.expireTokens()
        server.refuseNext(
            "POST /api/auth/refresh", with: Refusal(code: "service_unavailable", message: "", isRetryable: true))
        await #expect(throws: ClientFailure.self) { try await client.api.me() }
        await lookUntil { entries.texts(.session).contains { $0.hasPrefix("not refreshed code=service_unavailable") } }
        server.refuseNext("POST /api/auth/refresh", with: Refusal(code: "invalid_token", message: "", status: 401))
        await lookUntil {
            _ = try? await client.api.me()
            return entries.texts(.session).contains { $0.hasPrefix("ended code=invalid_token") }
        }
        await client.stop()
    }

    @Test("a refused message and an error of the disk are logged as errors")
    func errors() async throws {
        let client = try makeClient()
        await connect(client)
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        server.refuseNext("message:send", with: Refusal(code: "invalid_field", message: "Too long: secret"))
        conversation.send("secret")
        await lookUntil { if case .failed = conversation.items.last?.state { true } else { false } }
        #expect(entries.texts(.messages) == ["refused code=invalid_field room=\(roomID)"])
        #expect(entries.all.last { $0.category == .messages }?.level == .error)
        // A file in the place of the folder: nothing can be written there.
        let outbox = temporary.url.appending(path: "outbox")
        try FileManager.default.removeItem(at: outbox)
        try Data().write(to: outbox)
        conversation.send("secret, too")
        await lookUntil {
            entries.texts(.storage).contains { $0.hasPrefix("not written") && $0.contains("folder=outbox") }
        }
        await client.stop()
    }

    @Test("no entry has a text, a name, an element's content or a token")
    func discreet() async throws {
        let session = try server.makeSession(of: ada)
        let tokens = try SessionTokens(
            keptIn: MemorySessionStore(session), accounts: AccountsAPI(transport: device), clock: clock,
            log: entries.log)
        let client = try makeClient(tokens: tokens)
        await connect(client)
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        let board = client.openBoard(of: conversation)
        await lookUntil { conversation.isVerified && board.isVerified }
        for code in ["invalid_field", "forbidden"] {
            server.refuseNext("message:send", with: Refusal(code: code, message: "secret"))
            server.refuseNext("POST /api/rooms/\(roomID)/elements", with: Refusal(code: code, message: "secret"))
            conversation.send("secret")
            board.create(type: "note", content: ["text": .string("secret")])
            await TestClock.settle()
        }
        try await client.rooms.rename(roomID, to: "secret")
        server.expireTokens()
        await lookUntil { client.connection != .connected }
        await connect(client)
        // What is not the server's answer, and has a text in it.
        device.interceptNextRequests(2, with: Data("secret".utf8))
        _ = try? await client.api.me()
        await lookUntil { entries.texts(.boards).count == 2 && entries.texts(.messages).count == 2 }
        let latest = await tokens.session
        try await client.signOut()
        #expect(entries.texts(.session).last == "signed out")
        let texts = entries.all.map(\.text).joined(separator: "\n")
        for secret in ["secret", ada.username, ben.username, session.token, session.refreshToken]
            + [latest?.token, latest?.refreshToken].compactMap(\.self)
        {
            #expect(!texts.contains(secret), "\(secret) in \(texts)")
        }
    }
}
