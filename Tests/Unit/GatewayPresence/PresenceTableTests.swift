import Testing

@testable import ParlorGatewayPresence

@Suite("Ownership of presence")
struct PresenceTableTests {
    private let ada = Presence.Entry(kind: .presence, member: RoomMember(roomID: "r", userID: "ada"))
    private let bob = Presence.Entry(kind: .presence, member: RoomMember(roomID: "r", userID: "bob"))
    private let typing = Presence.Entry(kind: .typing, member: RoomMember(roomID: "r", userID: "ada"))

    @Test("an entry exists from its first owner to its last")
    func firstAndLast() {
        var owners = OwnerTable()
        let added = [owners.add(ada, to: "1"), owners.add(ada, to: "2"), owners.add(ada, to: "1")]
        #expect(added == [true, false, false])
        #expect(owners.hasOwner(ada) && owners.owners(of: ada) == ["1", "2"] && owners.entries(of: "1") == [ada])
        let removed = [owners.remove(ada, from: "1"), owners.remove(ada, from: "1"), owners.remove(ada, from: "2")]
        #expect(removed == [false, false, true])
        #expect(!owners.hasOwner(ada) && owners.owners(of: ada).isEmpty && owners.all.isEmpty)
    }

    @Test("an entry that was not owned is not removed")
    func strangers() {
        var owners = OwnerTable()
        let early = owners.remove(ada, from: "1")
        owners.add(ada, to: "1")
        let others = [owners.remove(ada, from: "2"), owners.remove(bob, from: "1")]
        #expect(!early && others == [false, false] && owners.hasOwner(ada))
    }

    @Test("a gateway owns an entry from its first socket to its last")
    func sockets() {
        var table = PresenceTable(gatewayID: "here")
        let added = [table.add(ada, socketID: "1"), table.add(ada, socketID: "2")]
        #expect(added == [true, false] && table.isOwnedHere(ada) && table.entries(ofGateway: "here") == [ada])
        #expect(table.sockets(owning: ada) == ["1", "2"] && table.entries(ofSocket: "2") == [ada])
        let removed = [
            table.remove(ada, socketID: "1"), table.remove(ada, socketID: "2"), table.remove(ada, socketID: "2"),
        ]
        #expect(removed == [false, true, false] && !table.isOwnedHere(ada) && table.entries(ofGateway: "here").isEmpty)
    }

    @Test("clients are notified when the first gateway owns an entry, and when the last one releases it")
    func changes() {
        var table = PresenceTable(gatewayID: "here")
        var changes: [Bool?] = []
        table.add(ada, socketID: "1")
        changes.append(table.takeChange(of: ada))
        changes.append(table.takeChange(of: ada))
        table.set(true, ada, byGateway: "there")
        changes.append(table.takeChange(of: ada))
        table.remove(ada, socketID: "1")
        changes.append(table.takeChange(of: ada))
        let gone = table.evict("there")
        changes.append(table.takeChange(of: ada))
        #expect(gone == [ada] && changes == [true, nil, nil, nil, false])
        #expect(table.evict("there") == [])
    }

    @Test("evicting a gateway removes what only it owned")
    func eviction() {
        var table = PresenceTable(gatewayID: "here")
        for entry in [ada, bob, typing] { table.set(true, entry, byGateway: "there") }
        table.add(ada, socketID: "1")
        #expect(table.present(in: ["r", "empty"]) == ["r": ["ada", "bob"]])
        #expect(table.evict("there") == [ada, bob, typing])
        #expect(table.present(in: ["r"]) == ["r": ["ada"]])
        let typingChange = table.takeChange(of: typing)
        #expect(typingChange == nil)
    }

    @Test("others' typing can be evicted alone; this gateway's stays")
    func othersTyping() {
        var table = PresenceTable(gatewayID: "here")
        for entry in [bob, typing] { table.set(true, entry, byGateway: "there") }
        let ownTyping = Presence.Entry(kind: .typing, member: bob.member)
        table.add(ownTyping, socketID: "1")
        #expect(table.evictOthers(.typing) == [typing])
        #expect(table.entries(ofGateway: "there") == [bob] && table.isOwnedHere(ownTyping))
    }

    @Test("the revision rises when presence changes, and only then")
    func revision() {
        var table = PresenceTable(gatewayID: "here")
        table.add(typing, socketID: "1")
        #expect(table.revision == 0)
        table.add(ada, socketID: "1")
        let first = table.revision
        #expect(first > 0)
        table.add(ada, socketID: "2")
        table.set(true, ada, byGateway: "there")
        _ = table.takeChange(of: ada)
        table.remove(ada, socketID: "1")
        table.remove(ada, socketID: "2")
        #expect(table.revision == first)
        table.set(false, ada, byGateway: "there")
        #expect(table.revision > first && table.present(in: ["r"]).isEmpty)
    }
}
