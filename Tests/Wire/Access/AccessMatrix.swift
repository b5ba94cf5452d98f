import ParlorContracts

/// A kind of call, with the answers to callers with and without access.
struct AccessRow: Sendable {
    /// The owner of a call's resource.
    enum Scope: String, Sendable {
        /// No owner: the call needs no sign-in.
        case open
        /// The caller's own: nobody else's could be named.
        case own
        /// A room: for a stranger it looks missing.
        case room
        /// A named person: contract and route say what a stranger sees, which is the same for all
        /// who share nothing.
        case person
    }

    let scope: Scope
    /// The status for a participant who names existing items.
    let status: Int
    /// The body, or the event's payload, for these ids.
    let body: @Sendable (Ids) -> String

    init(_ scope: Scope, _ status: Int = 200, _ body: @escaping @Sendable (Ids) -> String = { _ in "" }) {
        self.scope = scope
        self.status = status
        self.body = body
    }
}

/// A row for each route and event: here, or in a service's own folder. One that is announced without a row fails the test.
enum AccessMatrix {
    static func name(of route: Route) -> String { "\(route.method) \(route.path)" }

    static let routes = rows(besides: parlorsRoutes)
    static let events = rows(besides: parlorsEvents)

    private static let parlorsRoutes: [String: AccessRow] = [
        "POST /api/auth/register": AccessRow(.open, 201) { _ in
            #"{"username":"eve","password":"password-123","email":"eve@example.com","firstName":"Eve"}"#
        },
        "POST /api/auth/login": AccessRow(.open) { _ in #"{"username":"alice","password":"password-123"}"# },
        "POST /api/auth/refresh": AccessRow(.open) { #"{"refreshToken":"\#($0.refreshToken)"}"# },
        "POST /api/auth/logout": AccessRow(.open, 204) { _ in #"{"refreshToken":"none"}"# },
        "POST /api/auth/password": AccessRow(.own) { _ in
            #"{"currentPassword":"password-123","newPassword":"password-123"}"#
        },
        "GET /api/auth/sessions": AccessRow(.own),
        "DELETE /api/auth/sessions": AccessRow(.own, 204),
        "DELETE /api/auth/sessions/:id": AccessRow(.person, 204),
        "GET /api/users/me": AccessRow(.own),
        "GET /api/users/without-rooms": AccessRow(.own),
        "GET /api/users/:userId/messages": AccessRow(.person),

        "POST /api/rooms": AccessRow(.person, 201) { #"{"otherUserId":"\#($0.person)"}"# },
        "GET /api/rooms/my-rooms": AccessRow(.own),
        "GET /api/rooms/grouped-by-person": AccessRow(.own),
        "GET /api/rooms/:roomId": AccessRow(.room),
        "PUT /api/rooms/:roomId/name": AccessRow(.room) { _ in #"{"name":"x"}"# },
        "GET /api/rooms/:roomId/participants": AccessRow(.room),
        // The room is a direct one.
        "POST /api/rooms/:roomId/participants": AccessRow(.room, 409) { #"{"userIds":["\#($0.person)"]}"# },
        "DELETE /api/rooms/:roomId/participants/:userId": AccessRow(.room, 409),
        "PUT /api/rooms/:roomId/participants/:userId/role": AccessRow(.room, 409) { _ in #"{"role":"owner"}"# },

        "GET /api/rooms/:roomId/messages": AccessRow(.room),
        "POST /api/rooms/:roomId/messages": AccessRow(.room, 201) { _ in #"{"text":"x"}"# },
        "DELETE /api/rooms/:roomId/messages/:messageId": AccessRow(.room, 204),
        "POST /api/rooms/:roomId/messages/read": AccessRow(.room) { #"{"messageIds":["\#($0.message)"]}"# },

        "GET /api/rooms/:roomId/elements": AccessRow(.room),
        "POST /api/rooms/:roomId/elements": AccessRow(.room, 201) { _ in #"{"type":"note"}"# },
        "PATCH /api/rooms/:roomId/elements/:elementId": AccessRow(.room) { _ in #"{"content":{}}"# },
        "DELETE /api/rooms/:roomId/elements/:elementId": AccessRow(.room, 204),
        "DELETE /api/rooms/:roomId/elements": AccessRow(.room),

        "POST /api/devices": AccessRow(.own, 201) { _ in
            #"{"token":"abcd","platform":"ios","environment":"production"}"#
        },
        "DELETE /api/devices/:token": AccessRow(.person, 204),

        // The gateway's own routes.
        "GET /api/sync": AccessRow(.own),
    ]

    /// Routes that the gateway answers itself; no service announces them.
    static let ownRoutes = [Route("GET", "/api/sync", "")]
    static let ownEvents = ["room:join", "room:leave", "message:typing"]

    private static let parlorsEvents: [String: AccessRow] = [
        "room:join": AccessRow(.room) { #"{"roomId":"\#($0.room)"}"# },
        "room:leave": AccessRow(.room) { #"{"roomId":"\#($0.room)"}"# },
        "message:typing": AccessRow(.room) { #"{"roomId":"\#($0.room)","isTyping":true}"# },
        "message:send": AccessRow(.room) { #"{"roomId":"\#($0.room)","text":"x"}"# },
        "message:delete": AccessRow(.room) { #"{"roomId":"\#($0.room)","messageId":"\#($0.message)"}"# },
        "messages:mark-read": AccessRow(.room) { #"{"roomId":"\#($0.room)","messageIds":["\#($0.message)"]}"# },
        "element:create": AccessRow(.room) { #"{"roomId":"\#($0.room)","type":"note"}"# },
        "element:update": AccessRow(.room) {
            #"{"roomId":"\#($0.room)","elementId":"\#($0.element)","content":{}}"#
        },
        "element:delete": AccessRow(.room) { #"{"roomId":"\#($0.room)","elementId":"\#($0.element)"}"# },
        "room:create": AccessRow(.person) { #"{"otherUserId":"\#($0.person)"}"# },
        "participants:add": AccessRow(.room, 409) {
            #"{"roomId":"\#($0.room)","userIds":["\#($0.person)"]}"#
        },
        "participant:remove": AccessRow(.room, 409) { #"{"roomId":"\#($0.room)","userId":"\#($0.person)"}"# },
        "participant:role": AccessRow(.room, 409) {
            #"{"roomId":"\#($0.room)","userId":"\#($0.person)","role":"owner"}"#
        },
        "room:clear": AccessRow(.room) { #"{"roomId":"\#($0.room)"}"# },
    ]
}
