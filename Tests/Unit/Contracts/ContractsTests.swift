import ParlorContracts
import ParlorJSON
import Testing

@Suite("Encoding and decoding the contracts")
struct ContractsTests {
    @Test(
        "times are written in UTC, in full or cut to the second",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_734_428_700_123, "2024-12-17T09:45:00.123Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ])
    func times(milliseconds: Int, text: String) {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(time.iso == text)
        #expect(time.isoSeconds == text.prefix(19) + "Z")
    }

    @Test("an unavailable error always says when to try again, also across the bus")
    func unavailable() throws {
        for error in [ServiceError.unavailable("Rooms"), ServiceError(.serviceUnavailable, "Too many at once.")] {
            #expect(error.retryAfter == 1 && error.code.isRetryable)
            #expect(throws: error) { try Reply(error.json) }
        }
        #expect(ServiceError(.serviceUnavailable, "Later.", retryAfter: 30).retryAfter == 30)
        #expect(ServiceError(.forbidden, "No.").retryAfter == nil)
    }

    @Test("a manifest decodes as it was encoded")
    func manifests() throws {
        var manifest = Manifest(
            service: "stars",
            routes: [
                Route("PUT", "/api/rooms/:roomId/star", "stars.add", answer: .room, limits: ["stars", "more"]),
                Route("GET", "/api/stars", "stars.list", isHeavy: true, maxBodyBytes: 7),
            ],
            socketEvents: [
                SocketEvent("star:add", "stars.add", ackName: "star", ackCopies: [("starId", "id")], limits: ["stars"])
            ],
            contribution: Contribution(
                subject: "stars.contribute",
                fields: [
                    .badge("stars"), .init("count", zero: JSONValue(0)),
                    .init("starredAt", .time, role: .activity(type: "star", sort: "stars"), zero: .null),
                ]),
            hasEventLog: true, logsWhatRoomsShow: true, presenceSubject: "stars.presence",
            limits: [RateLimit("stars", .failures, perPerson: 1, perAddress: 2, seconds: 3)])
        manifest.routes.append(Route("GET", "/api/sky", "stars.sky", shows: .people))
        manifest.routes.append(Route("DELETE", "/api/stars/:token", "stars.remove", isConfidential: true))
        manifest.objectContributions = [
            .messages: Contribution(subject: "stars.messages", fields: [.init("stars", zero: JSONValue(0))]),
            .people: Contribution(subject: "stars.people", fields: [.init("since", .time, zero: .null)]),
        ]
        manifest.checks = [
            RequestCheck(before: "suns.add", "stars.check", whenAway: .allow, deadline: .milliseconds(20)),
            RequestCheck(before: RequestCheck.join, "stars.check", whenAway: .deny),
        ]
        let read = try #require(Manifest(manifest.json))
        #expect(read == manifest)
    }

    @Test(
        "a route or event that could never be served is skipped, and named",
        arguments: [
            #""routes":[{"method":"get","path":"/x","subject":"x.y","needsLogin":true,"answer":"plain"}]"#,
            #""routes":[{"method":"GET","path":"x","subject":"x.y","needsLogin":true,"answer":"plain"}]"#,
            #""routes":[{"method":"GET","path":"/x","subject":"x.>","needsLogin":true,"answer":"plain"}]"#,
            #""routes":[{"method":"GET","path":"/x","subject":"x.y","needsLogin":true,"answer":"plain","maxBody":-1}]"#,
            #""socketEvents":[{"event":"x:y","subject":"x.*"}]"#,
        ])
    func skipped(part: String) throws {
        let json = try JSONValue(parsing: #"{"service":"x",\#(part)}"#)
        let manifest = try #require(Manifest(json))
        #expect(manifest.routes.isEmpty && manifest.socketEvents.isEmpty)
        #expect(Manifest.skippedPart(of: json)?.hasPrefix("a part of `") == true)
    }

    @Test(
        "a check without a deadline has 500 ms, and one out of range the nearest; without a valid `whenAway` it denies")
    func checks() throws {
        func check(_ rest: String) throws -> RequestCheck? {
            let json = #"{"service":"x","checks":[{"before":"y.do","subject":"x.check"\#(rest)}]}"#
            return try Manifest(JSONValue(parsing: json))?.checks.first
        }
        #expect(try check(#","whenAway":"allow""#)?.deadline == .milliseconds(500))
        #expect(try check(#","deadline":1"#)?.deadline == .milliseconds(10))
        #expect(try check(#","deadline":-9223372036854775808"#)?.deadline == .milliseconds(10))
        #expect(try check(#","deadline":9223372036854775807"#)?.deadline == .seconds(2))
        #expect(try check(#","whenAway":"allow""#)?.whenAway == .allow)
        #expect(try check(#","whenAway":"alow""#)?.whenAway == .deny)
        #expect(try check("")?.whenAway == .deny)
        // Other gateways of today find in the manifest of a service without checks what they always did.
        #expect(Manifest(service: "x").json["checks"] == nil)
    }

    @Test(
        "a contribution to messages with a field that only a Room can have is left out; a route that shows them is plain"
    )
    func objects() throws {
        func contribution(_ field: String) throws -> Contribution? {
            let json = #"{"service":"x","messageContribution":{"subject":"x.y","fields":[{"zero":0,\#(field)}]}}"#
            return try Manifest(JSONValue(parsing: json))?.objectContributions[.messages]
        }
        #expect(try contribution(#""path":"a","kind":"value""#)?.fields.count == 1)
        #expect(try contribution(#""path":"a","kind":"time""#)?.fields.count == 1)
        #expect(try contribution(#""path":"a","kind":"laterTime""#) == nil)
        #expect(try contribution(#""path":"badges.a","kind":"value""#) == nil)
        #expect(try contribution(#""path":"a","kind":"value","role":{"badge":"a"}"#) == nil)
        // A gateway that does not know `shows` passes the answer on.
        let route = Manifest(service: "x", routes: [Route("GET", "/x", "x.y", shows: .messages)]).json["routes"]?
            .array?[0]
        #expect(route?["answer"]?.string == "plain" && route?["shows"]?.string == "messages")
    }

    @Test("a field without a role gets the role that its path had before roles existed")
    func impliedRoles() throws {
        func role(_ path: String, _ kind: String, _ rest: String = "") throws -> Contribution.Role? {
            let field = #"{"path":"\#(path)","kind":"\#(kind)","zero":0\#(rest)}"#
            let json = #"{"service":"x","contribution":{"subject":"x.y","fields":[\#(field)]}}"#
            let contribution = try #require(Manifest(try JSONValue(parsing: json))?.contribution)
            return contribution.fields[0].role
        }
        #expect(try role("badges.messages", "value") == .badge("messages"))
        #expect(try role("messagesUpdatedAt", "time") == .activity(type: "message", sort: "messages"))
        #expect(try role("messagesUpdatedAt", "value") == nil)
        #expect(try role("starredAt", "time") == nil)
        #expect(try role("badges.x", "value", #","role":{"badge":"y"}"#) == .badge("y"))
        #expect(try role("badges.x", "value", #","role":{"unknown":"y"}"#) == nil)
    }

    @Test("a gateway without roles reads a manifest as before")
    func rolesAreAddedMembers() throws {
        let manifest = Manifest(service: "x", contribution: Contribution(subject: "x.y", fields: [.badge("x")]))
        let field = manifest.json["contribution"]?["fields"]?.array?.first
        #expect(field?["path"]?.string == "badges.x" && field?["kind"]?.string == "value")
        #expect(field?["zero"]?.int == 0)
    }

    @Test("a reply decodes as it was encoded, and an error is thrown")
    func replies() throws {
        let reply = try Reply(
            Reply(.created, JSONValue(7), page: .null, position: EntryPosition(log: "s", seq: 9), isDuplicate: true)
                .json)
        #expect(reply.status == .created && reply.data.int == 7 && reply.page?.isNull == true && reply.isDuplicate)
        #expect(reply.position == EntryPosition(log: "s", seq: 9))
        let error = ServiceError(.rateLimited, "Slow down.", retryAfter: 3)
        #expect(throws: error) { try Reply(error.json) }
        #expect(throws: ServiceError.self) { try Reply(JSONValue(5)) }
    }

    @Test("memberships and callers decode as they were encoded")
    func people() throws {
        let participant = Participant(userID: "u", username: "n", firstName: nil, joinedAt: Timestamp(milliseconds: 1))
        let membership = Membership(roomID: "r", participants: [participant])
        #expect(Membership(membership.json) == membership)
        let caller = Caller(id: "i", username: "n", firstName: "Zoë \"Z\"")
        #expect(Caller(caller.json) == caller)
    }
}
