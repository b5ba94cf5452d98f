import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import Testing

@testable import ParlorAccounts

@Suite("People")
struct PeopleTests {
    @Test("people without a shared room are listed by username, without the caller")
    func withoutRooms() async throws {
        let harness = try AccountsHarness()
        var people: [SignedIn] = []
        for name in ["dora", "Alice", "carol", "Bob", "eve"] { people.append(try await harness.person(name)) }
        let dora = people[0]
        #expect(try await harness.withoutRooms(for: dora).people.map(\.username) == ["Alice", "Bob", "carol", "eve"])
        harness.roommates.share(dora, people[3])
        harness.roommates.share(people[4], dora)
        #expect(try await harness.withoutRooms(for: dora).people.map(\.username) == ["Alice", "carol"])
        #expect(try await harness.withoutRooms(for: people[3]).people.map(\.username) == ["Alice", "carol", "eve"])
    }

    @Test("q is a prefix of the username or the first name, in any case")
    func prefixes() async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        _ = try await harness.person("annabel", firstName: "Zoë")
        _ = try await harness.person("zz-1", firstName: "Anna Smith")
        _ = try await harness.person("zz-2", firstName: "Dr. Anna")
        _ = try await harness.person("zanna", firstName: "Éva")
        func found(_ q: String) async throws -> [String] {
            try await harness.withoutRooms(for: me, ["q": q]).people.map(\.username)
        }
        #expect(try await found("anna") == ["annabel", "zz-1"])
        #expect(try await found("ANNA") == ["annabel", "zz-1"])
        #expect(try await found("zoË") == ["annabel"])
        #expect(try await found("éV") == ["zanna"])
        #expect(try await found("z") == ["annabel", "zanna", "zz-1", "zz-2"])
        #expect(try await found("anna s") == ["zz-1"])
        #expect(try await found("annax") == [])
    }

    @Test(
        "by DIRECTORY, strangers are found by the start of a name, by a whole name or address, or not at all",
        arguments: Directory.allCases)
    func directory(setting: Directory) async throws {
        let harness = try AccountsHarness(openness: Openness(directory: setting))
        let me = try await harness.person("me-1")
        _ = try await harness.person("annabel", firstName: "Zoe", email: "anna@example.org")
        for (q, isExact) in [
            ("annabel", true), (" ANNABEL ", true), ("anna@EXAMPLE.org", true), ("anna", false), ("", false),
            ("Zoe", false),
        ] {
            let found = try await harness.withoutRooms(for: me, ["q": q]).people.map(\.username)
            switch setting {
            case .everyone: #expect(found == (q.contains("@") ? [] : ["annabel"]))
            case .exact: #expect(found == (isExact ? ["annabel"] : []))
            case .off: #expect(found == [])
            }
        }
        #expect(try await harness.withoutRooms(for: me, ["q": "me-1"]).people == [])
    }

    @Test("q finds a first name in another normal form, and with the sigma of a word's end or middle")
    func forms() async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        for (username, firstName) in [
            ("composed", "Jos\u{E9}"), ("decomposed", "Jose\u{301} M"), ("hangul", "\u{1112}\u{1161}\u{11AB}"),
            ("sigma", "\u{3A3}\u{3AF}\u{3C3}\u{3C5}\u{3C6}\u{3BF}\u{3C2}"),
        ] { _ = try await harness.person(username, firstName: firstName) }
        func found(_ q: String) async throws -> [String] {
            try await harness.withoutRooms(for: me, ["q": q]).people.map(\.username)
        }
        for q in ["jos\u{E9}", "JOSE\u{301}"] { #expect(try await found(q) == ["composed", "decomposed"]) }
        #expect(try await found("\u{D55C}") == ["hangul"])
        #expect(try await found("\u{3A3}\u{38A}\u{3A3}\u{3A5}\u{3A6}\u{39F}\u{3A3}") == ["sigma"])
    }

    @Test(
        "characters in q are no patterns",
        arguments: ["%", "_", "*", "?", "\\", "'", "\"", "%' OR '1'='1", ".", "[", "\u{10FFFF}", "\u{D7FF}"])
    func literal(wild: String) async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        _ = try await harness.person("prefix-abc", firstName: "prefix")
        #expect(try await harness.withoutRooms(for: me, ["q": "prefix" + wild]).people == [])
        #expect(try await harness.withoutRooms(for: me, ["q": "prefix-" + wild + "bc"]).people == [])
        #expect(try await harness.withoutRooms(for: me, ["q": wild]).people == [])
    }

    @Test("pages list each person once, with and without q", arguments: [1, 4, 11, 12, 200])
    func pages(limit: Int) async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        for n in 0..<22 {
            _ = try await harness.person(n < 11 ? "p\(n)-x" : "q\(n)", firstName: n.isMultiple(of: 2) ? "p\(n)" : nil)
        }
        for (q, expected) in [("", 22), ("p", 16)] {
            var seen: [String] = []
            var cursor: String?
            repeat {
                let page = try await harness.withoutRooms(
                    for: me,
                    cursor.map { ["q": q, "limit": "\(limit)", "cursor": $0] } ?? ["q": q, "limit": "\(limit)"])
                #expect(page.people.count <= limit)
                seen += page.people.map(\.username)
                cursor = page.next
            } while cursor != nil && seen.count <= 22
            #expect(seen.count == expected)
            #expect(seen == Set(seen).sorted())
        }
    }

    @Test("the list goes on after people who share rooms, and asks about few people at once")
    func afterRoommates() async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        for n in 10..<40 {
            let person = try await harness.person("p\(n)")
            if n != 35, n != 38 { harness.roommates.share(me, person) }
        }
        let first = try await harness.withoutRooms(for: me, ["limit": "1"])
        #expect(first.people.map(\.username) == ["p35"])
        // The caller is among the first two.
        #expect(harness.roommates.asked == [1, 4, 8, 16])
        let second = try await harness.withoutRooms(for: me, ["limit": "1", "cursor": try #require(first.next)])
        #expect(second.people.map(\.username) == ["p38"])
        #expect(second.next == nil)
    }

    @Test("people who were registered before names had one normal form are found in any spelling")
    func oldKeys() async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        for (username, name) in [("jose", "Jose\u{301}"), ("sisyphos", "Σίσυφος")] {
            _ = try await harness.person(username, firstName: name)
            try await harness.accounts.database.write {
                try $0.execute(
                    "UPDATE people SET first_name_key = $2, has_old_key = 1 WHERE username = $1", username,
                    name.lowercased())
            }
        }
        try await harness.accounts.renewKeys().value
        for (q, username) in [
            ("José ", "jose"), ("jose\u{301}", "jose"), ("ΣΊΣΥΦΟΣ", "sisyphos"), ("σίσυφος", "sisyphos"),
        ] {
            #expect(try await harness.withoutRooms(for: me, ["q": q]).people.map(\.username) == [username], "\(q)")
        }
    }

    @Test("a prefix of more first names than one page sorts finds the same people, in the same order")
    func manyFirstNames() async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        for name in ["ann", "anna-1", "zzz"] { _ = try await harness.person(name, firstName: "Berta") }
        let count = 1200
        // By their own SQL, as a registration takes some milliseconds. Every second one has a name that is searched for.
        try await harness.accounts.database.write { connection in
            for n in 0..<2 * count {
                try connection.execute(
                    """
                    INSERT INTO people (id, username, username_key, first_name, first_name_key, password_hash, created_at)
                    VALUES ($1, $2, $2, $3, $3, '', 0)
                    """, "id\(n)", "m\(10_000 + n)", n.isMultiple(of: 2) ? "anna" : "zoe")
            }
        }
        var seen: [String] = []
        var cursor: String?
        repeat {
            let page = try await harness.withoutRooms(
                for: me,
                cursor.map { ["q": "ann", "limit": "200", "cursor": $0] } ?? ["q": "ann", "limit": "200"])
            seen += page.people.map(\.username)
            cursor = page.next
        } while cursor != nil && seen.count <= count + 2
        #expect(seen == ["ann", "anna-1"] + (0..<count).map { "m\(10_000 + 2 * $0)" })
    }

    @Test("an out-of-range limit is clamped, and one that is not a number, or a bad cursor, is malformed")
    func queries() async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        for name in ["alice", "bob"] { _ = try await harness.person(name) }
        for limit in ["0", "-1", "-99999999999999999999"] {
            #expect(try await harness.withoutRooms(for: me, ["limit": limit]).people.count == 1)
        }
        for limit in ["1000", "99999999999999999999"] {
            #expect(try await harness.withoutRooms(for: me, ["limit": limit]).people.count == 2)
        }
        for limit in ["", "x", "1.5", "--1", "-", "٣", " 1", "+1"] {
            #expect(
                await failure { try await harness.withoutRooms(for: me, ["limit": limit]) }?.code == .malformedRequest)
        }
        for cursor in [
            "", "x", "!", Base64URL.encode([0]), Base64URL.encode([0xFF, 0xFF, 0xFF]),
            Base64URL.encode(Array("Upper".utf8)),
        ] {
            #expect(
                await failure { try await harness.withoutRooms(for: me, ["cursor": cursor]) }?.code == .malformedRequest
            )
        }
        #expect(await failure { try await harness.withoutRooms(for: me, ["q": "\0"]) }?.code == .invalidField)
    }

    @Test("without the rooms service the list is unavailable, and everything else works")
    func roomsDown() async throws {
        let harness = try AccountsHarness()
        let me = try await harness.person("myself")
        _ = try await harness.person("somebody")
        harness.roommates.takeDown()
        let error = await failure { try await harness.withoutRooms(for: me) }
        #expect(error?.code == .serviceUnavailable)
        #expect(error?.retryAfter != nil)
        _ = try await harness.login("myself")
    }

    private func lookUp(
        _ harness: AccountsHarness, _ ids: [String], asRoommates: Bool = false
    ) async throws -> [String: String?] {
        let reply = try await harness.accounts.lookUpPeople(
            try RequestFields.writing {
                $0.member("ids", array: { for id in ids { $0.string(id) } })
                $0.member("viewerSharesRooms", asRoommates)
            })
        let people = try #require(reply.data.array).compactMap(Person.init)
        return Dictionary(people.map { ($0.username, $0.email) }, uniquingKeysWith: { first, _ in first })
    }

    @Test("others' addresses are shown as the setting says", arguments: EmailVisibility.allCases)
    func emails(visibility: EmailVisibility) async throws {
        let harness = try AccountsHarness(openness: Openness(emails: visibility))
        let alice = try await harness.person("alice", email: "alice@example.org")
        let bob = try await harness.person("bob", email: "bob@example.org")
        _ = try await harness.person("carol", email: "carol@example.org")
        harness.roommates.share(alice, bob)

        let seen = try await lookUp(harness, [bob.person.id], asRoommates: true)
        #expect(seen["bob"] == (visibility == .nobody ? .some(nil) : "bob@example.org"))

        let unseen = try await lookUp(harness, [bob.person.id])
        #expect(unseen["bob"] == (visibility == .everyone ? "bob@example.org" : .some(nil)))

        let listed = try await harness.withoutRooms(for: alice).people
        #expect(listed.map(\.email) == [visibility == .everyone ? "carol@example.org" : nil])
    }

    @Test("unknown ids are left out, and a request without ids is malformed")
    func unknown() async throws {
        let harness = try AccountsHarness()
        let alice = try await harness.person("alice")
        #expect(try await lookUp(harness, ["nobody", alice.person.id, "nul\0", "'"]).keys.sorted() == ["alice"])
        #expect(try await lookUp(harness, []).isEmpty)
        let error = await failure {
            try await harness.accounts.lookUpPeople(
                try RequestFields.writing { $0.member("ids", 5) })
        }
        #expect(error?.code == .malformedRequest)
    }
}
