import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorTestSupport
import Testing

/// A contract type: its encoding, its required members, and how it is decoded and encoded again.
private struct Crossing: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let json: JSONValue
    let required: Set<String>
    let rewrite: @Sendable (JSONValue) -> JSONValue?

    init(
        _ name: String, _ json: JSONValue, needs required: Set<String>,
        _ rewrite: @escaping @Sendable (JSONValue) -> JSONValue?
    ) {
        testDescription = name
        self.json = json
        self.required = required
        self.rewrite = rewrite
    }

    private static let participant = Participant(
        userID: "u", username: "ada", firstName: "Zoë \"Z\"", joinedAt: Timestamp(milliseconds: 1))
    private static let emission = Emission(
        to: .person("p"), "e", JSONWriter.object { $0.member("x", 1) }, composition: .room, endsTypingOf: "u")
    private static let manifest: Manifest = {
        var manifest = Manifest(
            service: "stars", routes: [Route("GET", "/stars", "stars.list", needsLogin: false, limits: ["stars"])],
            socketEvents: [SocketEvent("star:add", "stars.add", ackName: "star", ackCopies: [("starId", "id")])],
            contribution: Contribution(subject: "stars.contribute", fields: [.init("stars", .laterTime, zero: .null)]),
            hasEventLog: true, presenceSubject: "stars.presence",
            limits: [RateLimit("stars", perPerson: 1, perAddress: 2, seconds: 3)])
        manifest.checks = [RequestCheck(before: "suns.add", "stars.check", whenAway: .deny)]
        manifest.objectContributions = [
            .messages: Contribution(subject: "stars.messages", fields: [.init("stars", zero: JSONValue(0))])
        ]
        return manifest
    }()

    static let all: [Crossing] = [
        Crossing(
            "Caller", Caller(id: "i", username: "n", firstName: "f").json, needs: ["id", "username"]
        ) { Caller($0)?.json },
        Crossing(
            "Person", Person(id: "i", username: "n", firstName: "f", email: "e@x").json, needs: ["id", "username"]
        ) { Person($0)?.json },
        Crossing(
            "Participant", JSONWriter.value { participant.write(to: &$0) }, needs: ["userId", "username", "joinedAt"]
        ) { json in Participant(json).map { read in JSONWriter.value { read.write(to: &$0) } } },
        Crossing(
            "Membership", Membership(roomID: "r", participants: [participant]).json, needs: ["roomId", "participants"]
        ) { Membership($0)?.json },
        Crossing(
            "AccessClaims",
            AccessClaims(caller: Caller(id: "i", username: "n", firstName: "f"), sessionID: "s", expiresAt: 7)
                .json(issuedAt: 5),
            needs: ["sub", "username", "exp"]
        ) { $0.object.flatMap(AccessClaims.init)?.json(issuedAt: 5) },
        Crossing(
            "Emission", JSONWriter.value { emission.write(to: &$0) }, needs: ["to", "person", "event", "data"]
        ) { json in Emission(json).map { read in JSONWriter.value { read.write(to: &$0) } } },
        Crossing(
            "LogEntry",
            LogEntry(
                seq: 3, at: Timestamp(milliseconds: 5), roomID: "r", participants: ["x"], emissionsJSON: [emission].json
            ).json, needs: ["seq", "at", "roomId", "participants", "emissions"]
        ) { LogEntry($0)?.json },
        Crossing(
            "Fact", Fact.messageSent(id: "m", senderID: "u", senderName: "n").payload,
            needs: ["fact", "id", "senderId", "senderName"]
        ) { json in
            Fact(json)?.messageSent.map { id, senderID, senderName in
                Fact.messageSent(id: id, senderID: senderID, senderName: senderName).payload
            }
        },
        Crossing(
            "Fact of changed fields", Fact.fieldsChanged(messageIDs: ["m"], personIDs: ["p"]).payload,
            needs: ["fact"]
        ) { json in
            Fact(json)?.fieldsChanged.map { messageIDs, personIDs in
                Fact.fieldsChanged(messageIDs: messageIDs, personIDs: personIDs).payload
            }
        },
        Crossing("Manifest", manifest.json, needs: ["service"]) { Manifest($0)?.json },
        Crossing(
            "Reply",
            Reply(
                .created, JSONValue("d"), page: JSONValue("p"), position: .init(log: "s", seq: 9), isDuplicate: true
            )
            .json, needs: ["status", "data"]
        ) { json in try? Reply(json).json },  // any refusal is as good as nil
    ]
}

@Suite("Decoding malformed contracts")
struct MalformedTests {
    private static let wrong = try? ["null", "true", "5", "-1e300", #""x""#, "[]", "[[1]]", "{}", #"{"a":1}"#].map {
        try JSONValue(parsing: $0)
    }

    private func object(_ members: [(name: String, value: JSONValue)]) -> JSONValue {
        JSONWriter.object { for member in members { $0.member(member.name, member.value) } }
    }

    @Test("a value decodes as it was encoded, with unknown members, in any order", arguments: Crossing.all)
    fileprivate func roundTrip(_ crossing: Crossing) throws {
        #expect(crossing.rewrite(crossing.json) == crossing.json)
        let members = try #require(crossing.json.object).all
        let other = object(members.reversed() + [("unknown", .emptyObject)])
        #expect(crossing.rewrite(other) == crossing.json)
    }

    @Test("a value without a required member is refused; without an optional one it is not", arguments: Crossing.all)
    fileprivate func missing(_ crossing: Crossing) throws {
        let members = try #require(crossing.json.object).all
        #expect(crossing.required.isSubset(of: members.map(\.name)))
        for member in members {
            let rest = object(members.filter { $0.name != member.name })
            #expect((crossing.rewrite(rest) == nil) == crossing.required.contains(member.name), "\(member.name)")
        }
        #expect(crossing.rewrite(.emptyObject) == nil)
    }

    @Test(
        "a member of another type is refused, or read as a value that can be encoded",
        arguments: Crossing.all)
    fileprivate func wrongKind(_ crossing: Crossing) throws {
        let members = try #require(crossing.json.object).all
        for value in try #require(Self.wrong) {
            if value.kind != .object { #expect(crossing.rewrite(value) == nil) }
            for at in members.indices {
                var changed = members
                changed[at].value = value
                guard let read = crossing.rewrite(object(changed)) else { continue }
                #expect(try JSONValue(parsing: read.bytes) == read)
                #expect(crossing.rewrite(read) == read)
            }
        }
    }

    @Test("random changes to its bytes never crash the process", arguments: Crossing.all)
    fileprivate func random(_ crossing: Crossing) throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            var bytes = Array(crossing.json.bytes)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            guard let json = try? JSONValue(parsing: bytes) else { continue }  // refusing is as good
            _ = crossing.rewrite(json)
        }
    }

    @Test(
        "a token with an invalid expiry is refused",
        arguments: ["-1e300", "1e300", "1e15", "-1e15", "\"7\"", "null"])
    func expiry(exp: String) throws {
        let claims = try JSONValue(parsing: #"{"sub":"i","username":"n","exp":\#(exp)}"#)
        #expect(try AccessClaims(#require(claims.object)) == nil)
    }

    @Test("an emission of an unknown kind from a newer service is dropped, and not sent in part")
    func unknownEmissions() throws {
        let json = try JSONValue(
            parsing: """
                [{"to":"room","event":"known","data":{}}, {"to":"planet","event":"a","data":{}},
                 {"to":"room","event":"b","compose":"menu","data":{}}, {"to":"room","event":"c","compose":1,"data":{}}, 5]
                """)
        let entry = LogEntry(
            seq: 1, at: Timestamp(milliseconds: 0), roomID: "r", participants: [], emissionsJSON: json)
        #expect(entry.emissions.map(\.event) == ["known"])
    }

    @Test("a contribution with an unknown field is ignored: values would go to the wrong fields")
    func unknownFields() throws {
        let json = try JSONValue(
            parsing: """
                {"service":"stars","contribution":{"subject":"s","fields":[
                    {"path":"a","kind":"colour","zero":null}, {"path":"b","kind":"value","zero":0}]}}
                """)
        let manifest = try #require(Manifest(json))
        #expect(manifest.contribution == nil)
    }

    @Test("a log entry or a membership with an invalid person is refused")
    func participants() throws {
        let entry = #"{"seq":1,"at":1,"roomId":"r","participants":["a",5],"emissions":[]}"#
        #expect(try LogEntry(JSONValue(parsing: entry)) == nil)
        let membership = #"{"roomId":"r","participants":[{"userId":"a"}]}"#
        #expect(try Membership(JSONValue(parsing: membership)) == nil)
    }

    @Test(
        "a service's own code has to be a name with a status that clients take for a refusal",
        arguments: [
            (#""code":"too_blue","status":409"#, 409), (#""code":"x","status":499"#, 499),
            (#""code":"a_1","status":400"#, 400),
            (#""code":"too_blue","status":200"#, 500), (#""code":"too_blue","status":500"#, 500),
            (#""code":"too_blue","status":401"#, 500), (#""code":"too_blue","status":429"#, 500),
            (#""code":"too_blue","status":"409""#, 500), (#""code":"Too blue","status":409"#, 500),
            (#""code":"1st","status":409"#, 500), (#""code":"","status":409"#, 500), (#""status":409"#, 500),
            // The contract's codes keep their own status.
            (#""code":"room_not_found","status":409"#, 404),
        ])
    func ownCodes(members: String, status: Int) throws {
        let reply = try JSONValue(parsing: #"{"error":{\#(members),"message":"Too blue."}}"#)
        let error = try #require(throws: ServiceError.self) { try Reply(reply) }
        #expect(error.code.status == status && error.message == "Too blue.")
        // On its way through another service it stays what it is.
        #expect(throws: error) { try Reply(error.json) }
    }

    @Test("an unknown error code becomes internal, and keeps its message; every code of the contract is read")
    func errors() throws {
        for code in ErrorCode.ofContract {
            let error = ServiceError(code, "Because \"so\".", retryAfter: code.isRetryable ? 3 : nil)
            #expect(throws: error) { try Reply(error.json) }
        }
        let unknown = try JSONValue(parsing: #"{"error":{"code":"too_blue","message":"Too blue."}}"#)
        #expect(throws: ServiceError(.internal, "Too blue.")) { try Reply(unknown) }
        let empty = try JSONValue(parsing: #"{"error":{}}"#)
        #expect(throws: ServiceError(.internal, "Something went wrong.")) { try Reply(empty) }
    }

    @Test(
        "any number of milliseconds can be written as a time",
        arguments: [Int.min, -62_135_596_800_001, 253_402_300_800_000, Int.max])
    func extremes(milliseconds: Int) {
        let text = Timestamp(milliseconds: milliseconds).iso
        #expect(text.utf8.count == 24 && text.hasSuffix("Z"))
    }
}
