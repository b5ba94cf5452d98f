import Testing

@testable import GatewayPresence

@Suite("Who holds what")
struct HolderTableTests {
    private let ada = RoomMember(roomID: "r", userID: "ada")
    private let bob = RoomMember(roomID: "r", userID: "bob")

    @Test("the first holder makes a place held, the last one lets it go")
    func firstAndLast() {
        var table = HolderTable()
        let added = [table.add("1", at: ada), table.add("2", at: ada), table.add("1", at: ada)]
        #expect(added == [true, false, false])
        #expect(table.isHeld(ada) && table.holders(of: ada) == ["1", "2"])
        let removed = [table.remove("1", at: ada), table.remove("1", at: ada), table.remove("2", at: ada)]
        #expect(removed == [false, false, true])
        #expect(!table.isHeld(ada) && table.userIDs(in: "r").isEmpty)
    }

    @Test("a holder that is gone lets go of what only it held")
    func removeAll() {
        var table = HolderTable()
        for place in [ada, bob] { table.add("1", at: place) }
        table.add("2", at: ada)
        #expect(Set(table.userIDs(in: "r")) == ["ada", "bob"])
        let (first, second) = (table.removeAll(of: "1"), table.removeAll(of: "1"))
        #expect(first == [bob] && second.isEmpty)
        #expect(table.places(of: "1").isEmpty && table.places(of: "2") == [ada])
    }

    @Test("what one never held is not let go of")
    func strangers() {
        var table = HolderTable()
        let early = table.remove("1", at: ada)
        table.add("1", at: ada)
        let others = [table.remove("2", at: ada), table.remove("1", at: bob)]
        #expect(!early && others == [false, false] && table.isHeld(ada))
    }

    @Test("a gateway holds a place from its first socket to its last")
    func sockets() {
        var holdings = Holdings(gatewayID: "here")
        let added = [holdings.add("1", at: ada), holdings.add("2", at: ada)]
        #expect(added == [true, false] && holdings.isHeldHere(ada) && holdings.placesHere == [ada])
        let removed = [holdings.remove("1", at: ada), holdings.remove("2", at: ada), holdings.remove("2", at: ada)]
        #expect(removed == [false, true, false] && !holdings.isHeldHere(ada) && holdings.placesHere.isEmpty)
    }

    @Test("clients are told when the first of all gateways holds a place, and when the last one lets it go")
    func news() {
        var holdings = Holdings(gatewayID: "here")
        var news: [Bool?] = []
        holdings.add("1", at: ada)
        news.append(holdings.takeNews(of: ada))
        news.append(holdings.takeNews(of: ada))
        holdings.set(true, at: ada, byGateway: "there")
        news.append(holdings.takeNews(of: ada))
        holdings.remove("1", at: ada)
        news.append(holdings.takeNews(of: ada))
        #expect(holdings.places(ofGateway: "there") == [ada] && Array(holdings.userIDs(in: "r")) == ["ada"])
        let gone = holdings.removeGateway("there")
        news.append(holdings.takeNews(of: ada))
        #expect(gone == [ada] && news == [true, nil, nil, nil, false])
    }
}
