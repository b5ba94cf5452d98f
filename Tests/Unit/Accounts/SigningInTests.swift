import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorAccounts

@Suite("Signing in")
struct SigningInTests {
    private let harness: AccountsHarness

    init() throws { harness = try AccountsHarness() }

    private func register(_ json: String) async throws -> Reply {
        try await harness.accounts.register(RequestFields(JSONValue(parsing: json)))
    }

    @Test("registering signs the person in, with the given name")
    func register() async throws {
        let alice = try await harness.person("Alice.A-_1", firstName: " Zoë  M. 🎉 ", email: "A@example.org")
        #expect(alice.status == .created)
        #expect(alice.person.username == "Alice.A-_1")
        #expect(alice.person.firstName == " Zoë  M. 🎉 ")
        #expect(alice.person.email == "A@example.org")
        let me = try await harness.accounts.me(alice.caller)
        #expect(Person(me.data) == alice.person)
    }

    @Test("a password is the same in each normal form, also one that an earlier version has hashed as it was sent")
    func normalForms() async throws {
        let (composed, decomposed) = ("p\u{E4}ssw\u{F6}rd-\u{E9}", "pa\u{308}sswo\u{308}rd-e\u{301}")
        for password in [composed, decomposed] {
            let name = "name\(password.utf8.count)"
            _ = try await harness.person(name, password: password)
            for typed in [composed, decomposed] {
                #expect(try await harness.login(name, typed).person.username == name)
            }
            #expect(
                await failure { try await harness.login(name, "passw\u{F6}rd-\u{E9}") }?.code == .invalidCredentials)
        }
        let old = try await harness.person("old")
        let hash = try PasswordHash(
            of: decomposed, cost: harness.accounts.passwords.cost, randomness: SystemRandomness()
        ).text
        try await harness.accounts.database.write {
            _ = try $0.execute("UPDATE people SET password_hash = $2 WHERE id = $1", old.person.id, hash)
        }
        // The second time, the hash is of the normal form.
        for typed in [decomposed, composed] { #expect(try await harness.login("old", typed).person == old.person) }
    }

    @Test("a password's length is that of its normal form, at each place that takes one")
    func lengthOfNormalForm() async throws {
        // Twenty-four syllables as some keyboards write them: 216 bytes, 72 in normal form.
        let typed = String(repeating: "\u{1112}\u{1161}\u{11AB}", count: 24)
        let ada = try await harness.person("ada", password: typed)
        #expect(try await harness.login("ada", typed).person == ada.person)
        let client = harness.client(at: "192.0.2.1", session: try harness.session(of: ada))
        let body = try RequestFields.writing {
            $0.member("currentPassword", typed)
            $0.member("newPassword", "another one")
            $0.member(ClientInfo.member, client.json)
        }
        let caller = Caller(id: ada.person.id, username: "ada", firstName: nil)
        #expect(try await harness.accounts.changePassword(body, caller).status == .ok)
        // Too long in any form.
        let code = await failure { try await harness.login("ada", String(repeating: "x", count: 129)) }?.code
        #expect(code == .invalidCredentials)
    }

    @Test("where REGISTRATION is closed nobody creates an account, and those that exist go on")
    func closed() async throws {
        let folder = TemporaryFolder()
        let database = try SQLiteDatabase(.file(folder.file("accounts.db")), migrations: AccountsSchema.migrations)
        let before = try AccountsHarness(on: database)
        let alice = try await before.person("alice")
        let harness = try AccountsHarness(openness: Openness(registration: .closed), on: database)
        #expect(await failure { try await harness.person("bob") }?.code == .forbidden)
        #expect(try await harness.login("alice").person == alice.person)
    }

    @Test("a name may have spaces around it, and an e-mail address may be left out by an empty text")
    func asFormsSendIt() async throws {
        let reply = try await register(#"{"username":"forms","password":"password","email":""}"#)
        #expect(reply.status == .created)
        #expect(try await harness.login(" forms\t").person.email == nil)
    }

    @Test("the token names its person and its expiry")
    func accessToken() async throws {
        let alice = try await harness.person("alice", firstName: "Alice")
        let now = harness.clock.now().milliseconds / 1000
        let keys = JSONWebKeySet([harness.key])
        let claims = AccessClaims(try JSONWebToken.verify(alice.token, keys: keys, at: now + 3599))
        #expect(
            try claims
                == AccessClaims(
                    caller: alice.caller, sessionID: harness.session(of: alice), issuedAt: now, expiresAt: now + 3600))
        #expect(alice.expiresAt == Timestamp(milliseconds: (now + 3600) * 1000).iso)
        #expect(throws: JSONWebTokenError.expired) { try JSONWebToken.verify(alice.token, keys: keys, at: now + 3600) }
    }

    @Test(
        "an invalid name is refused with the name of the field",
        arguments: [
            "", "ab", String(repeating: "a", count: 33), "has space", "slash/y", "ünïcode", "semi;colon", "nul\0nul",
            "new\nline", "a@b", "ａｂｃ",
        ])
    func badUsernames(username: String) async {
        let error = await failure { try await harness.person(username) }
        #expect(error?.code == .invalidField)
        #expect(error?.message.contains("username") == true)
    }

    @Test(
        "a password is 8 to 128 bytes, of any kind",
        arguments: ["short 7", "é é", "", String(repeating: "x", count: 129)])
    func badPasswords(password: String) async {
        let error = await failure { try await harness.person("alice", password: password) }
        #expect(error?.code == .invalidField)
        #expect(error?.message.contains("password") == true)
    }

    @Test(
        "passwords at the limits work unchanged",
        arguments: [
            "8 bytes!", String(repeating: "x", count: 128), String(repeating: "é", count: 64), "  spaces  ",
            "nul\0\u{1}nul",
        ])
    func goodPasswords(password: String) async throws {
        _ = try await harness.person("alice", password: password)
        #expect(try await harness.login("alice", password).status == .ok)
        for wrong in [password + "~", String(password.dropLast()) + "~", password.uppercased() + "X", ""] {
            #expect(await failure { try await harness.login("alice", wrong) }?.code == .invalidCredentials)
        }
    }

    @Test(
        "control characters are refused in every text",
        arguments: ["\0", "\u{7}", "\u{b}", "\u{1b}", "\u{7f}", "\u{80}", "\u{9f}"])
    func controlCharacters(text: String) async {
        for field in ["username", "firstName", "email"] {
            let error = await failure {
                try await harness.accounts.register(
                    try RequestFields.writing {
                        $0.member("username", field == "username" ? "alice" + text : "alice")
                        $0.member("password", "password")
                        $0.member("firstName", field == "firstName" ? "a" + text : "Alice")
                        $0.member("email", field == "email" ? "a\(text)@example.org" : "a@example.org")
                    })
            }
            #expect(error?.code == .invalidField)
            #expect(error?.message.contains(field) == true)
        }
        #expect(await failure { try await harness.login("a" + text, "password") }?.code == .invalidCredentials)
    }

    @Test("a missing field and null are the same; a field of the wrong type is malformed")
    func fields() async {
        for json in [
            #"{"password":"password"}"#, #"{"username":null,"password":"password"}"#, #"{"username":"alice"}"#,
        ] {
            #expect(await failure { try await register(json) }?.code == .invalidField)
        }
        for json in [
            #"{"username":5,"password":"password"}"#, #"{"username":"alice","password":12345678}"#,
            #"{"username":"alice","password":"password","firstName":5}"#,
            #"{"username":"alice","password":"password","email":["a@b"]}"#,
        ] {
            #expect(await failure { try await register(json) }?.code == .malformedRequest)
        }
        let reply = try? await register(
            #"{"username":"alice","password":"password","firstName":null,"email":null,"future":[1]}"#)
        #expect(reply?.status == .created)
    }

    @Test("a name and an address belong to one person, in any case")
    func taken() async throws {
        _ = try await harness.person("Alice", email: "Alice@Example.org")
        for name in ["alice", "ALICE", "Alice"] {
            #expect(await failure { try await harness.person(name) }?.code == .usernameTaken)
        }
        #expect(await failure { try await harness.person("bob", email: "alice@example.ORG") }?.code == .emailTaken)
        #expect(await failure { try await harness.person("ALICE", email: "alice@example.org") }?.code == .usernameTaken)
        _ = try await harness.person("carol")
        _ = try await harness.person("dave")
    }

    @Test("one of many who register a name at once gets it")
    func race() async {
        let codes = await withTaskGroup(of: ErrorCode?.self) { group in
            for name in ["dora", "DORA", "Dora", "dORA", "dora", "DORa"] {
                group.addTask { [harness] in await failure { try await harness.person(name) }?.code }
            }
            return await group.reduce(into: [ErrorCode?]()) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 1)
        #expect(codes.count { $0 == .usernameTaken } == 5)
    }

    @Test("a person signs in by username or by address, in any case")
    func login() async throws {
        let alice = try await harness.person("Alice", email: "Alice@example.org")
        for name in ["Alice", "alice", "ALICE", "alice@example.org", "ALICE@EXAMPLE.ORG"] {
            let again = try await harness.login(name)
            #expect(again.person == alice.person)
            #expect(again.refreshToken != alice.refreshToken)
        }
    }

    @Test("a wrong password and an unknown person get the same answer")
    func refused() async throws {
        _ = try await harness.person("alice")
        let wrong = await failure { try await harness.login("alice", "not the password") }
        let unknown = await failure { try await harness.login("nobody", "not the password") }
        #expect(wrong?.code == .invalidCredentials)
        #expect(wrong == unknown)
        for name in ["", "' OR 1=1 --", "%", "a\0", String(repeating: "x", count: 10_000)] {
            #expect(await failure { try await harness.login(name) } == unknown)
        }
        #expect(await failure { try await harness.login("alice", String(repeating: "x", count: 100_000)) } == unknown)
    }

    @Test("a person who is no longer in the database is not signed in, whatever the token says")
    func unknownCaller() async {
        let error = await failure {
            try await harness.accounts.me(Caller(id: "0190-nobody", username: "x", firstName: nil))
        }
        #expect(error?.code == .unauthenticated)
    }
}
