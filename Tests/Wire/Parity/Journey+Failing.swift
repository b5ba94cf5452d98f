extension Journey {
    static func comeBack(_ site: Site) async throws {
        let (ada, bob, room) = try await site.pair()
        let synced = try await ada.call("GET", "/api/sync")
        let cursor = synced["data"]?["cursor"]?.string ?? ""
        let messages = "/api/rooms/\(room)/messages"
        let first = try await bob.call("POST", messages, #"{"text":"one"}"#)
        try await bob.call("POST", "/api/rooms/\(room)/elements", #"{"type":"note"}"#)
        try await bob.call("DELETE", "\(messages)/\(first["data"]?["id"]?.string ?? "")")
        try await bob.call("PUT", "/api/rooms/\(room)/name", #"{"name":"Plans"}"#)
        try await bob.call("POST", messages, #"{"text":"two"}"#)

        let back = try await ada.phone(since: cursor)
        // The order between the logs of different services is not fixed.
        for event in [
            "message:deleted", "room:badges", "message:new", "element:created", "room:updated",
            "sync:done",
        ] {
            try await back.event(event)
        }
        try await bob.call("POST", messages, #"{"text":"before the join"}"#)
        try await back.event("message:new:global")
        try await back.ask("room:join", #"{"roomId":"\#(room)"}"#)
        try await back.event("message:new")
        back.close()

        try await ada.call("GET", "/api/sync?since=\(cursor)&limit=x")
        try await ada.call("GET", "/api/sync?since=garbage")
        try await bob.call("GET", "/api/sync?since=\(cursor)")
        try await bob.phone(since: cursor).event("sync:done")
        try await bob.phone(since: "garbage").event("sync:done")
    }

    static func fail(_ site: Site) async throws {
        let (ada, _, room) = try await site.pair()
        let eve = try await site.visitor("eve")
        let stranger = Visitor(site: site, name: "stranger", token: "none")
        for (method, path) in [
            ("GET", "/api/rooms/my-rooms"), ("GET", "/api/rooms/\(room)"), ("POST", "/api/rooms/\(room)/messages"),
            ("GET", "/api/sync"),
        ] {
            try await stranger.call(method, path)
        }
        try await ada.call("GET", "/api/nothing")
        try await ada.call("GET", "/api/rooms/\(room)/nothing")
        try await ada.call("PUT", "/api/rooms/my-rooms")
        try await ada.call("DELETE", "/api/rooms/\(room)")
        try await ada.call("POST", "/api/rooms", "no JSON")
        try await ada.call("POST", "/api/rooms", "[]")
        try await ada.call("POST", "/api/rooms", #"{"otherUserId":5}"#)
        try await ada.call("GET", "/api/rooms/nowhere")

        let refused = try await stranger.openPhone()
        try await refused.client.send(#"40{"token":"none"}"#)
        let refusal = try await refused.client.receive()
        try site.transcript.note("refusal", .string(String(refusal.prefix(2))))
        try await refused.client.connect(token: ada.token ?? "")

        let (adas, eves) = (try await ada.phone(), try await eve.phone())
        try await adas.ask("nothing", "{}")
        for event in [
            "room:join", "room:leave", "message:send", "message:typing", "message:delete", "messages:mark-read",
            "element:create", "element:update", "element:delete", "room:clear", "participants:add",
            "participant:remove", "participant:role",
        ] {
            try await adas.ask(event, "{}")
            try await adas.ask(event, #"{"roomId":5}"#)
            try await eves.ask(event, #"{"roomId":"\#(room)"}"#)
        }
        try await adas.ask("room:leave", #"{"roomId":"\#(room)"}"#)
        try await adas.ask("message:delete", #"{"roomId":"\#(room)","messageId":"none"}"#)
        try await adas.ask("message:delete", #"{"roomId":"\#(room)"}"#)
        try await adas.ask("element:delete", #"{"roomId":"\#(room)","elementId":"none"}"#)
        try await adas.ask("element:update", #"{"roomId":"\#(room)","content":{}}"#)
        try await adas.client.emit("message:send", #"{"roomId":"\#(room)"}"#)
        try await adas.event("request:error")
    }
}
