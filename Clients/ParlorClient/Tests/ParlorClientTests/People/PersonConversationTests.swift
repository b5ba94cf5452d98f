import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("PersonConversation", .timeLimit(.minutes(1)))
struct PersonConversationTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    /// Waits until something is shown. The list of rooms shows later events after a pause, and pauses before retries are
    /// random.
    private func until(_ isSo: @MainActor () -> Bool) async {
        for _ in 0..<600 where !isSo() {
            await TestClock.settle()
            if !isSo() { await home.clock.advance(by: .milliseconds(100)) }
        }
        await lookUntil(isSo)
    }

    private func makeRoom() throws -> String { try home.server.makeRoom(by: home.ben.id, with: home.ada.id) }

    /// Makes a second room, and posts "one" in the first room and "two" in the second.
    private func makeSecondRoom() throws -> String {
        let second = try makeRoom()
        try home.server.post("one", in: home.roomID, by: home.ben.id)
        try home.server.post("two", in: second, by: home.ben.id)
        return second
    }

    /// Makes a room with messages from Ben, and returns it with four rooms whose messages will be later.
    private func makeQuietRoom(_ texts: [String]) async throws -> (quiet: String, rooms: [String]) {
        let quiet = try makeRoom()
        for text in texts { try home.server.post(text, in: quiet, by: home.ben.id) }
        await home.clock.advance(by: .seconds(2))
        return (quiet, [home.roomID] + (try (0..<3).map { _ in try makeRoom() }))
    }

    private func opened(_ client: RoomsClient) async -> PersonConversation {
        let chat = client.openConversation(with: home.ben)
        await until { chat.isVerified }
        return chat
    }

    /// Returns the texts that the server has, over all rooms, oldest first.
    private func kept(_ client: RoomsClient) async throws -> [String] {
        try await client.api.messages(with: home.ben.id, limit: 200).items.map(\.text)
    }

    private func pages(of roomID: String) -> Int {
        home.device.requests.count { $0 == "GET /api/rooms/\(roomID)/messages" }
    }

    /// Opens the chat and closes it, starts a new client without a network, and opens the chat there.
    private func openedOffline() async throws -> (client: RoomsClient, chat: PersonConversation) {
        let first = try await home.connected()
        await opened(first).close()
        await first.enterBackground()
        await first.endProcess()
        home.device.setAirplaneMode(true)
        let client = home.makeClient()
        await client.start()
        return (client, client.openConversation(with: home.ben))
    }

    @Test("it shows the messages of all shared rooms by time, and no others, and follows changes in each")
    func live() async throws {
        let second = try makeRoom()
        let cy = home.server.addPerson("cy")
        let other = try home.server.makeRoom(by: home.ada.id, with: cy.id)
        try home.server.post("one", in: home.roomID, by: home.ben.id)
        try home.server.post("two", in: second, by: home.ada.id)
        try home.server.post("not here", in: other, by: cy.id)
        let three = try home.server.post("three", in: home.roomID, by: home.ben.id)
        let client = try await home.connected()
        let chat = await opened(client)
        #expect(chat.items.map(\.item.text) == ["one", "two", "three"])
        #expect(chat.items.map(\.roomID) == [home.roomID, second, home.roomID])
        #expect(!chat.hasOlder)
        try home.server.post("four", in: second, by: home.ben.id)
        try home.server.deleteMessage(three, in: home.roomID, by: home.ben.id)
        await until { chat.items.map(\.item.text) == ["one", "two", "four"] }
        #expect(try await kept(client) == ["one", "two", "four"])
        // A room that is made meanwhile.
        let third = try makeRoom()
        try home.server.post("five", in: third, by: home.ben.id)
        await until { chat.items.last?.item.text == "five" && chat.isVerified }
        #expect(chat.rooms.map(\.id) == [third, home.roomID, second], "the deletion came last in the first room")
        await chat.close()
        await client.stop()
    }

    @Test("it leaves the boards' badges as they are, until a screen shows a board, and again after that")
    func unseenBoards() async throws {
        try home.server.post("one", in: home.roomID, by: home.ben.id)
        _ = try home.server.addElement(in: home.roomID, by: home.ben.id)
        let client = try await home.connected()
        func badge() -> Int? { client.rooms[home.roomID]?.badges.elements }
        await until { badge() == 1 }
        let chat = await opened(client)
        _ = try home.server.addElement(in: home.roomID, by: home.ben.id)
        await until { badge() == 2 }
        let room = try await client.open(roomID: home.roomID)
        await until { badge() == 0 && room.conversation.isVerified }
        _ = try home.server.addElement(in: home.roomID, by: home.ben.id)
        await until { client.rooms[home.roomID]?.elementCount == 3 }
        #expect(badge() == 0)
        await room.closeAndKeep()
        await TestClock.settle()
        _ = try home.server.addElement(in: home.roomID, by: home.ben.id)
        await until { badge() == 1 }
        // The server counts the same, also for a device that comes now.
        await chat.close()
        let next = try await client.api.room(home.roomID).room
        #expect(next.badges.elements == 1)
        await client.stop()
    }

    @Test(
        "it leaves the badge of a board whose screen has just been closed, and whose room is still being left",
        arguments: [0, 1, 2, 4, 8])
    func closedBoard(yields: Int) async throws {
        try home.server.post("one", in: home.roomID, by: home.ben.id)
        let client = try await home.connected()
        let room = try await client.open(roomID: home.roomID)
        await until { room.conversation.isVerified }
        room.close()
        for _ in 0..<yields { await Task.yield() }
        let chat = client.openConversation(with: home.ben)
        await until { chat.isVerified && home.device.requests.count { $0 == "room:join" } == 2 }
        await TestClock.settle()
        _ = try home.server.addElement(in: home.roomID, by: home.ben.id)
        await until { client.rooms[home.roomID]?.badges.elements == 1 }
        await chat.close()
        await client.stop()
    }

    @Test("a message goes to the room of the latest message, to the chosen one, or to the one in which typing began")
    func target() async throws {
        let second = try makeSecondRoom()
        let client = try await home.connected()
        let chat = await opened(client)
        #expect(chat.targetRoomID == second)
        chat.send("to the latest")
        #expect(chat.items.last?.item.text == "to the latest", "at once")
        chat.send("to the first", in: home.roomID)
        await until { home.server.texts(in: second).last == "to the latest" }
        await until { home.server.texts(in: home.roomID).last == "to the first" }
        await until { chat.targetRoomID == home.roomID }
        chat.typed()
        try home.server.post("meanwhile", in: second, by: home.ben.id)
        await until { chat.items.last?.item.text == "meanwhile" && chat.rooms.first?.id == second }
        chat.send("as begun")
        #expect(chat.targetRoomID == second)
        await until { home.server.texts(in: home.roomID).last == "as begun" }
        chat.chosenRoomID = home.roomID
        chat.send("as chosen")
        await until { home.server.texts(in: home.roomID).last == "as chosen" }
        await until { chat.items.allSatisfy { $0.item.message != nil } }
        #expect(chat.items.map(\.item.text) == (try await kept(client)))
        let cy = home.server.addPerson("cy")
        let foreign = try home.server.makeRoom(by: home.ada.id, with: cy.id)
        #expect(chat.send("nowhere", in: foreign) == nil)
        #expect(chat.send("  ") == nil)
        await chat.close()
        await client.stop()
    }

    @Test("older messages come by pages, in the order of all rooms, without a hole, and only needed rooms are opened")
    func older() async throws {
        let (quiet, rooms) = try await makeQuietRoom(["quiet"])
        for number in 1...130 {
            let room = rooms[number % 7 % 4]
            try home.server.post("\(number)", in: room, by: number.isMultiple(of: 2) ? home.ada.id : home.ben.id)
        }
        let client = try await home.connected()
        let chat = await opened(client)
        let all = try await kept(client)
        #expect(all.count == 131)
        #expect(chat.items.count >= 50)
        #expect(chat.items.map(\.item.text) == all.suffix(chat.items.count))
        #expect(pages(of: quiet) == 0)
        var counts = [chat.items.count]
        while chat.hasOlder {
            await chat.loadOlder()
            #expect(chat.items.map(\.item.text) == all.suffix(chat.items.count))
            try #require(chat.items.count > counts.last ?? 0)
            counts.append(chat.items.count)
        }
        #expect(chat.items.map(\.item.text) == all)
        #expect(counts.count <= 4, "\(counts)")
        #expect(pages(of: quiet) == 1)
        await chat.close()
        await client.stop()
    }

    /// Opens a chat of five rooms. While the device has no network, the one that the chat did not need gets 90 messages.
    private func missMany() async throws -> (client: RoomsClient, chat: PersonConversation, roomID: String) {
        let (second, rooms) = try await makeQuietRoom((1...25).map { "old \($0)" })
        for number in 1...80 { try home.server.post("\(number)", in: rooms[number % 4], by: home.ben.id) }
        let client = try await home.connected()
        let chat = await opened(client)
        #expect(pages(of: second) == 0)
        home.device.setAirplaneMode(true)
        await until { client.connection != .connected }
        for number in 1...90 { try home.server.post("new \(number)", in: second, by: home.ben.id) }
        home.device.setAirplaneMode(false)
        return (client, chat, second)
    }

    @Test("many new messages in a room that was not needed leave no hole")
    func burst() async throws {
        let (client, chat, _) = try await missMany()
        let shown = chat.items.count
        await client.enterForeground()
        await until { chat.items.last?.item.text == "new 90" && chat.isVerified }
        #expect(chat.items.count >= shown + 90)
        #expect(chat.items.map(\.item.text) == (try await kept(client)).suffix(chat.items.count))
        await chat.close()
        await client.stop()
    }

    @Test("missing messages that cannot be fetched are fetched again after a pause")
    func failedFetch() async throws {
        let (client, chat, second) = try await missMany()
        home.device.delayAnswers(by: .milliseconds(500))
        async let entered: Void = client.enterForeground()
        await until { pages(of: second) == 1 }
        for _ in 0..<3 {
            home.server.refuseNext(
                "GET /api/rooms/\(second)/messages",
                with: Refusal(code: "service_unavailable", message: "", isRetryable: true))
        }
        await until { chat.failure != nil }
        let asked = pages(of: second)
        await TestClock.settle()
        #expect(pages(of: second) == asked, "the clock stands still")
        #expect(chat.failure?.code == "service_unavailable")
        #expect(!chat.isVerified)
        await until { chat.isVerified }
        await entered
        // Two or three pages, and three refusals. The list may be known when the room is opened, and then the first fetch
        // has two pages, which are fetched again together.
        #expect((5...7).contains(pages(of: second)))
        #expect(chat.failure == nil)
        home.device.delayAnswers(by: .zero)
        #expect(chat.items.map(\.item.text) == (try await kept(client)).suffix(chat.items.count))
        await chat.close()
        await client.stop()
    }

    @Test("a chat that is closed while it opens a room for older messages leaves all rooms, and fetches no more")
    func closedWhileLoading() async throws {
        let (quiet, rooms) = try await makeQuietRoom(["quiet"])
        for number in 1...240 { try home.server.post("\(number)", in: rooms[number % 4], by: home.ben.id) }
        let client = try await home.connected()
        let chat = await opened(client)
        #expect(pages(of: quiet) == 0)
        let asked = rooms.map(pages)
        home.device.delayAnswers(by: .seconds(1))
        let loading = Task { await chat.loadOlder() }
        await lookUntil { pages(of: quiet) == 1 }
        #expect(chat.isLoadingOlder)
        await chat.close()
        await loading.value
        #expect(!chat.isLoadingOlder)
        await home.clock.advance(by: .seconds(10))
        #expect(rooms.map(pages) == asked)
        await until { home.device.requests.count { $0 == "room:leave" } == 5 }
        #expect(home.device.requests.count { $0 == "room:join" } == 5)
        await client.stop()
    }

    @Test("a message does not go to a room that is gone, though it was chosen or typed in", arguments: [true, false])
    func goneTarget(isChosen: Bool) async throws {
        let second = try makeSecondRoom()
        let client = try await home.connected()
        let chat = await opened(client)
        if isChosen { chat.chosenRoomID = second } else { chat.typed() }
        #expect(chat.targetRoomID == second)
        home.server.remove(home.ada.id, from: second)
        await client.rooms.refresh()
        await until { chat.rooms.map(\.id) == [home.roomID] }
        #expect(chat.chosenRoomID == nil)
        #expect(chat.targetRoomID == home.roomID)
        #expect(chat.items.map(\.item.text) == ["one"])
        chat.send("here")
        await until { home.server.texts(in: home.roomID).last == "here" }
        #expect(home.server.texts(in: second) == ["two"])
        await chat.close()
        await client.stop()
    }

    @Test("what is on the screen is read in its room; typing is shown; closing leaves all rooms")
    func reading() async throws {
        let second = try makeSecondRoom()
        let client = try await home.connected()
        let chat = await opened(client)
        chat.setVisible(chat.items)
        await home.clock.advance(by: .seconds(1))
        await until { client.rooms.rooms.allSatisfy { $0.badges.messages == 0 } }
        try home.server.post("three", in: second, by: home.ben.id)
        await until { chat.items.count == 3 }
        chat.setVisible([PersonConversation.Item]())
        try await chat.markAllRead()
        await until { home.device.requests.count { $0 == "messages:mark-read" } >= 2 }
        await client.rooms.refresh()
        #expect(client.rooms.rooms.allSatisfy { $0.badges.messages == 0 })
        await chat.close()
        await until { home.device.requests.count { $0 == "room:leave" } == 2 }
        #expect(chat.send("closed") == nil)
        await client.stop()
    }

    @Test("without a network, it is known that there are messages before the cached ones")
    func offlineOlder() async throws {
        let second = try makeRoom()
        for number in 1...120 {
            try home.server.post("\(number)", in: number.isMultiple(of: 2) ? second : home.roomID, by: home.ada.id)
        }
        let (client, chat) = try await openedOffline()
        await until { chat.items.count >= 90 }
        #expect(chat.hasOlder)
        #expect(!chat.isVerified)
        await chat.close()
        await client.stop()
    }

    @Test("without a network it shows what is cached, and sends later")
    func offline() async throws {
        let second = try makeSecondRoom()
        let (client, chat) = try await openedOffline()
        await until { chat.items.map(\.item.text) == ["one", "two"] }
        #expect(!chat.isVerified)
        chat.send("later")
        home.device.setAirplaneMode(false)
        await client.enterForeground()
        await until { home.server.texts(in: second).last == "later" && chat.isVerified }
        #expect(chat.items.map(\.item.text) == ["one", "two", "later"])
        await chat.close()
        await client.stop()
    }
}
