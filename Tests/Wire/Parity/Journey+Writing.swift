extension Journey {
    static func write(_ site: Site) async throws {
        let (ada, bob, room) = try await site.pair()
        let eve = try await site.visitor("eve")
        let (adas, bobs) = (try await ada.phone(in: room), try await bob.phone(in: room))
        func send(_ fields: String, after echo: String? = nil) async throws -> String {
            let answer = try await adas.ask("message:send", #"{"roomId":"\#(room)",\#(fields)}"#, after: echo)
            return answer["messageId"]?.string ?? ""
        }
        let first = try await send(#""text":"  hello\n","tempId":"key""#, after: "message:new")
        for phone in [adas, bobs] {
            try await phone.event("message:new")
            try await phone.event("message:new:global")
        }
        _ = try await send(#""text":"another","tempId":"key""#)
        _ = try await send(#""content":"second""#)
        // The repeated one has reached nobody, so that this is the next.
        try await bobs.event("message:new")
        for fields in [
            #""text":" ""#, #""text":5"#, #""tempId":"t""#, #""text":null"#, #""text":"x","tempId":"""#,
            #""text":"x","tempId":5"#, #""text":"a\u0000b""#, #""text":"x","tempId":null"#,
            #""text":"\#(String(repeating: "x", count: 4001))""#,
        ] {
            _ = try await send(fields)
        }
        let messages = "/api/rooms/\(room)/messages"
        try await bob.call("POST", messages, #"{"text":"by request","tempId":"key"}"#)
        try await bob.call("POST", messages, #"{"text":"again","tempId":"key"}"#)
        try await bob.call("POST", messages, "{}")
        for query in [
            "", "?limit=2", "?limit=2&before=3", "?after=0&limit=2", "?after=2", "?limit=0", "?limit=x", "?before=x",
            "?after=x",
        ] {
            try await bob.call("GET", messages + query)
        }
        let conversation = "/api/users/\(bob.id ?? "")/messages"
        try await ada.call("GET", conversation)
        let page = try await ada.call("GET", "\(conversation)?limit=2")
        try await ada.call("GET", "\(conversation)?before=\(page["page"]?["next"]?.string ?? "")")
        try await eve.call("GET", conversation)
        try await ada.call("GET", "/api/users/00000000-0000-7000-8000-000000000001/messages")
        try await eve.call("GET", messages)
        try await eve.call("POST", messages, #"{"text":"psst"}"#)

        try await bob.call("DELETE", "\(messages)/\(first)")
        try await eve.call("DELETE", "\(messages)/\(first)")
        try await adas.ask("message:delete", #"{"roomId":"\#(room)","messageId":"\#(first)"}"#)
        try await bobs.event("message:deleted")
        try await bobs.event("message:deleted:global")
        try await ada.call("DELETE", "\(messages)/\(first)")
        _ = try await send(#""text":"hello","tempId":"key""#)
        try await ada.call("GET", messages)
        try await ada.call("GET", "/api/rooms/\(room)")
    }

    static func read(_ site: Site) async throws {
        let (ada, bob, room) = try await site.pair()
        let (adas, bobs) = (try await ada.phone(in: room), try await bob.phone(in: room))
        var ids: [String] = []
        for text in ["one", "two", "three"] {
            let sent = try await adas.ask("message:send", #"{"roomId":"\#(room)","text":"\#(text)"}"#)
            ids.append(sent["messageId"]?.string ?? "")
        }
        func list(_ ids: [String]) -> String { "[" + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
        try await bobs.ask("messages:mark-read", #"{"roomId":"\#(room)","messageIds":\#(list([ids[0], "unknown"]))}"#)
        try await adas.event("messages:read")
        try await bobs.event("messages:read")
        try await bobs.event("room:badges")
        try await bobs.ask("messages:mark-read", #"{"roomId":"\#(room)","messageIds":\#(list([ids[0]]))}"#)
        try await adas.ask("messages:mark-read", #"{"roomId":"\#(room)","messageIds":\#(list(ids))}"#)
        let path = "/api/rooms/\(room)/messages/read"
        try await bob.call("POST", path, #"{"messageIds":\#(list([ids[1]]))}"#)
        try await adas.event("messages:read")
        try await bobs.event("room:badges")
        for body in [
            "{}", #"{"messageIds":[]}"#, #"{"messageIds":5}"#, #"{"messageIds":[5]}"#,
            #"{"messageIds":\#(list(Array(repeating: "x", count: 501)))}"#,
        ] {
            try await bob.call("POST", path, body)
        }
        try await ada.call("GET", "/api/rooms/\(room)/messages")
        try await bob.call("GET", "/api/rooms/my-rooms")
    }

    static func arrange(_ site: Site) async throws {
        let (ada, bob, room) = try await site.pair()
        let eve = try await site.visitor("eve")
        let (adas, bobs) = (try await ada.phone(in: room), try await bob.phone(in: room))
        let made = try await adas.ask(
            "element:create",
            #"{"roomId":"\#(room)","type":"note","content":{"a":[1,2.5]},"position":{"x":1,"y":2.5},"tempId":"key"}"#,
            after: "element:created")
        let id = made["element"]?["id"]?.string ?? ""
        try await bobs.event("element:created")
        try await bobs.event("element:created:global")
        try await adas.ask("element:create", #"{"roomId":"\#(room)","type":"card","tempId":"key"}"#)
        func update(_ fields: String) async throws {
            try await bobs.ask("element:update", #"{"roomId":"\#(room)","elementId":"\#(id)",\#(fields)}"#)
        }
        try await update(#""position":{"x":3,"y":4}"#)
        try await adas.event("element:updated")
        try await adas.event("element:updated:global")
        try await update(#""position":null,"version":2"#)
        try await update(#""content":{"b":true},"version":1"#)
        try await update(#""version":3"#)
        try await update(#""content":5"#)
        try await update(#""position":{"x":1}"#)
        let elements = "/api/rooms/\(room)/elements"
        try await ada.call("PATCH", "\(elements)/\(id)", #"{"content":{"c":null}}"#)
        for body in [
            "{}", #"{"type":"Note"}"#, #"{"type":5}"#, #"{"type":""}"#, #"{"type":"note","content":[]}"#,
            #"{"type":"note","position":5}"#, #"{"type":"note","content":null,"position":null}"#,
            #"{"type":"note","tempId":""}"#,
        ] {
            try await bob.call("POST", elements, body)
        }
        try await ada.call("GET", elements)
        let page = try await ada.call("GET", "\(elements)?limit=1")
        try await ada.call("GET", "\(elements)?cursor=\(page["page"]?["next"]?.string ?? "")")
        try await eve.call("GET", elements)
        try await eve.call("PATCH", "\(elements)/\(id)", #"{"content":{}}"#)
        try await bob.call("DELETE", "\(elements)/\(id)")
        try await adas.event("element:deleted")
        try await adas.event("element:deleted:global")
        try await bob.call("DELETE", "\(elements)/\(id)")
        try await ada.call("PATCH", "\(elements)/\(id)", #"{"content":{}}"#)
        try await adas.ask("element:create", #"{"roomId":"\#(room)","type":"note","tempId":"key"}"#)
        try await adas.ask("room:clear", #"{"roomId":"\#(room)"}"#)
        try await bobs.event("room:cleared")
        try await bobs.event("room:cleared:global")
        try await adas.ask("room:clear", #"{"roomId":"\#(room)"}"#)
        try await ada.call("DELETE", elements)
        try await ada.call("GET", "/api/rooms/\(room)")
    }
}
