extension Journey {
    static func gather(_ site: Site) async throws {
        let (ada, bob, direct) = try await site.pair()
        let (carol, dan) = (try await site.visitor("carol"), try await site.visitor("dan"))
        let nobody = "00000000-0000-7000-8000-000000000001"
        func list(_ ids: String?...) -> String { "[" + ids.map { "\"\($0 ?? "")\"" }.joined(separator: ",") + "]" }

        let (adas, bobs) = (try await ada.phone(), try await bob.phone())
        let body = #"{"participantIds":\#(list(bob.id, carol.id, ada.id, bob.id)),"clientRequestId":"key"}"#
        let made = try await ada.call("POST", "/api/rooms", body)
        let room = made["data"]?["id"]?.string ?? ""
        try await bobs.event("room:created")
        try await bobs.event("room:created:global")
        try await ada.call("POST", "/api/rooms", body)
        try await adas.ask("room:create", body)
        for fields in [
            #""participantIds":[]"#, #""participantIds":\#(list(ada.id))"#, #""participantIds":5"#,
            #""participantIds":[5]"#, #""participantIds":\#(list(bob.id, nobody))"#,
            #""participantIds":\#(list(bob.id)),"otherUserId":"\#(bob.id ?? "")""#, #""participantIds":null"#,
        ] {
            try await ada.call("POST", "/api/rooms", "{\(fields)}")
        }

        let people = "/api/rooms/\(room)/participants"
        try await adas.ask("room:join", #"{"roomId":"\#(room)"}"#)
        try await adas.event("room:presence")
        try await bobs.ask("room:join", #"{"roomId":"\#(room)"}"#)
        try await adas.event("room:presence")
        let dans = try await dan.phone()
        let sent = try await ada.call("POST", "/api/rooms/\(room)/messages", #"{"text":"before"}"#)
        try await ada.call("POST", people, #"{"userIds":\#(list(bob.id, dan.id))}"#)
        try await bobs.event("participant:joined")
        try await bobs.event("room:updated:global")
        try await dans.event("room:created")
        try await ada.call("POST", people, #"{"userIds":\#(list(dan.id))}"#)
        let read = #"{"messageIds":["\#(sent["data"]?["id"]?.string ?? "")"]}"#
        try await dan.call("POST", "/api/rooms/\(room)/messages/read", read)
        try await bob.call("POST", "/api/rooms/\(room)/messages/read", read)
        try await carol.call("POST", "/api/rooms/\(room)/messages/read", read)
        try await dan.call("GET", "/api/rooms/\(room)/messages")
        try await dan.call("GET", people)
        let page = try await dan.call("GET", "\(people)?limit=3")
        try await dan.call("GET", "\(people)?limit=3&cursor=\(page["page"]?["next"]?.string ?? "")")
        try await dan.call("GET", "/api/rooms/my-rooms")
        try await ada.call("GET", "/api/rooms/grouped-by-person")
        try await ada.call("GET", "/api/users/\(dan.id ?? "")/messages")

        try await ada.call("PUT", "\(people)/\(bob.id ?? "")/role", #"{"role":"owner"}"#)
        try await adas.event("participant:updated")
        try await adas.event("room:updated:global")
        try await bob.call("PUT", "\(people)/\(ada.id ?? "")/role", #"{"role":"member"}"#)
        try await adas.event("participant:updated")
        let attempts: [(Visitor, String?, String)] = [
            (bob, bob.id, #"{"role":"member"}"#), (bob, bob.id, #"{"role":"owner"}"#),
            (ada, bob.id, #"{"role":"member"}"#), (bob, ada.id, #"{"role":"guest"}"#), (bob, ada.id, "{}"),
            (bob, ada.id, #"{"role":5}"#), (bob, nobody, #"{"role":"owner"}"#),
        ]
        for (visitor, id, role) in attempts {
            try await visitor.call("PUT", "\(people)/\(id ?? "")/role", role)
        }
        for body in [#"{"userIds":[]}"#, "{}", #"{"userIds":5}"#, #"{"userIds":\#(list(nobody))}"#] {
            try await bob.call("POST", people, body)
            try await ada.call("POST", people, body)
        }

        let cursor = try await carol.call("GET", "/api/sync")["data"]?["cursor"]?.string ?? ""
        try await bob.call("POST", "/api/rooms/\(room)/messages", #"{"text":"secret"}"#)
        let carols = try await carol.phone(in: room)
        try await adas.event("room:presence")
        try await ada.call("DELETE", "\(people)/\(carol.id ?? "")")
        try await bob.call("DELETE", "\(people)/\(carol.id ?? "")")
        try await adas.event("room:presence")
        try await adas.event("participant:left")
        try await carols.event("room:removed")
        try await carols.ask("message:send", #"{"roomId":"\#(room)","text":"hello?"}"#)
        try await bob.call("DELETE", "\(people)/\(carol.id ?? "")")
        try await carol.call("GET", "/api/rooms/\(room)")
        try await carol.call("GET", "/api/sync?since=\(cursor)")

        // The last owner leaves, and then everybody.
        try await bobs.ask("participant:remove", #"{"roomId":"\#(room)","userId":"\#(bob.id ?? "")"}"#)
        try await bobs.event("room:removed")
        try await adas.event("participant:left")
        try await adas.event("participant:updated")
        try await adas.ask("participants:add", #"{"roomId":"\#(room)","userIds":\#(list(bob.id))}"#)
        try await adas.ask("participant:role", #"{"roomId":"\#(room)","userId":"\#(dan.id ?? "")","role":"owner"}"#)
        for visitor in [bob, dan, ada] { try await visitor.call("DELETE", "\(people)/\(visitor.id ?? "")") }
        try await ada.call("POST", "/api/rooms", body)
        try await ada.call("GET", "/api/rooms/\(room)")

        // A direct room has the same people for ever.
        let others = "/api/rooms/\(direct)/participants"
        try await ada.call("GET", others)
        try await ada.call("POST", others, #"{"userIds":\#(list(dan.id))}"#)
        try await ada.call("DELETE", "\(others)/\(ada.id ?? "")")
        try await ada.call("PUT", "\(others)/\(bob.id ?? "")/role", #"{"role":"owner"}"#)
    }
}
