import ParlorJSON

// What gateways and other services know of Accounts.

extension LogID {
    public static let accounts = LogID("accounts")
}

extension Subject {
    /// People by their ids.
    public static let people = "accounts.people"
    /// Those of the given sessions that have not ended.
    public static let liveSessions = "accounts.live-sessions"
}

extension ShownObject {
    static let membersOfPeople = ["id", "userId", "username", "firstName", "email", "rooms"]
}

extension Fact {
    /// Sessions ended. Gateways refuse their tokens, and push forgets their devices.
    public static func sessionsEnded(_ ended: SessionsEnded) -> Fact { Fact("sessionsEnded", ended.writeMembers(to:)) }

    public var sessionsEnded: SessionsEnded? { kind == "sessionsEnded" ? SessionsEnded(payload) : nil }
}

extension RateLimit {
    public static let ofAccounts = [
        RateLimit(
            "register", perPerson: 10, perAddress: 60, seconds: 3600, isOfAddresses: true,
            "Registrations, per address"),
        // `perPerson` applies only to `change-password`, the only one of these routes that has a caller. `GuessesStore`
        // limits the guesses at one account.
        RateLimit(
            "login", .failures, perPerson: 10, perAddress: 30, seconds: 300,
            "Wrong passwords, per address, and at a password change also per person"),
        // Successful sign-ins are limited too: each costs a hash and a session.
        RateLimit(
            "sign_ins", perPerson: 10, perAddress: 60, seconds: 60,
            "Sign-ins and password changes, per address, and at a password change also per person"),
        RateLimit(
            "refresh", perPerson: 60, perAddress: 600, seconds: 60,
            "Token refreshes, per address alone, and sessions listed or ended"),
    ]
}

extension ErrorCode {
    public static let invalidCredentials = ErrorCode("invalid_credentials", 401)
    public static let invalidToken = ErrorCode("invalid_token", 401)
    public static let userNotFound = ErrorCode("user_not_found", 404)
    public static let usernameTaken = ErrorCode("username_taken", 409)
    public static let emailTaken = ErrorCode("email_taken", 409)

    static let ofAccounts = [invalidCredentials, invalidToken, userNotFound, usernameTaken, emailTaken]
}

extension ServiceError {
    public static let userNotFound = ServiceError(.userNotFound, "There is no such person.")
}

/// A person as others see them. `email` is nil if the caller may not see it.
public struct Person: Sendable, Equatable {
    public let id: String
    public let username: String
    public let firstName: String?
    public let email: String?

    public init(id: String, username: String, firstName: String?, email: String?) {
        self.id = id
        self.username = username
        self.firstName = firstName
        self.email = email
    }

    public var json: JSONValue { JSONWriter.object { write(to: &$0) } }

    public func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("username", username)
        json.member("firstName", firstName)
        json.member("email", email)
    }

    public static let schema = Schema.named(
        "Person",
        .object([
            "id": .id, "username": .string, "firstName": Schema.string.orNull,
            "email": Schema.string.orNull.noted("Null if there is none, or the caller may not see it."),
        ]))

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let id = object["id"]?.string, let username = object["username"]?.string else {
            return nil
        }
        self.init(
            id: id, username: username, firstName: object["firstName"]?.string, email: object["email"]?.string)
    }
}

/// Sessions of one person that ended together.
public struct SessionsEnded: Sendable, Equatable {
    public let sessionIDs: [String]
    /// The time at which the last of their access tokens expires; it is in the past if none is valid any more.
    public let tokensUntil: Timestamp

    public init(sessionIDs: [String], tokensUntil: Timestamp) {
        self.sessionIDs = sessionIDs
        self.tokensUntil = tokensUntil
    }

    public func writeMembers(to json: inout JSONWriter) {
        json.member("sessions", sessionIDs)
        json.member("tokensUntil", tokensUntil.milliseconds)
    }

    /// Parses an object with the members of `writeMembers(to:)`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let ids = json["sessions"]?.list(of: \.string), let until = json["tokensUntil"]?.int else { return nil }
        self.init(sessionIDs: ids, tokensUntil: Timestamp(milliseconds: until))
    }
}
