import ParlorClient

extension Parlor {
    static func json(_ person: Person, showsEmail: Bool = true) -> JSON {
        var members: [String: JSON] = [
            "id": .string(person.id), "username": .string(person.username), "firstName": .optional(person.firstName),
        ]
        if showsEmail { members["email"] = .optional(person.email) }
        return .object(members)
    }

    mutating func addPerson(_ username: String, firstName: String?, email: String?, password: String) -> Person {
        let person = Person(id: makeID(at: stamp()), username: username, firstName: firstName, email: email)
        accounts[person.id] = Account(person: person, password: password)
        return person
    }

    mutating func register(_ fields: JSON) throws(Refused) -> Answer {
        let username = try fields.required("username")
        guard (3...32).contains(username.count),
            username.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "_.-".contains($0)) })
        else { throw .invalid("username", "has to have 3 to 32 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`") }
        let password = try fields.required("password")
        guard (8...128).contains(password.utf8.count) else { throw .invalid("password", "must have 8 to 128 bytes") }
        guard account(named: username) == nil else {
            throw Refused(status: 409, code: "username_taken", message: "Somebody has that name.")
        }
        let email = fields["email"]?.string
        if let email, account(named: email) != nil {
            throw Refused(status: 409, code: "email_taken", message: "Somebody has that address.")
        }
        let person = addPerson(username, firstName: fields["firstName"]?.string, email: email, password: password)
        return Answer(201, session(of: person.id, family: nextNumber()))
    }

    mutating func logIn(_ fields: JSON) throws(Refused) -> Answer {
        let (username, password) = (try fields.required("username"), try fields.required("password"))
        guard let account = account(named: username), account.password == password else {
            throw Refused(status: 401, code: "invalid_credentials", message: "Name or password is wrong.")
        }
        return Answer(200, session(of: account.person.id, family: nextNumber()))
    }

    mutating func refresh(_ fields: JSON) throws(Refused) -> Answer {
        let text = try fields.required("refreshToken")
        let refused = Refused(status: 401, code: "invalid_token", message: "Sign in again.")
        guard let token = refreshTokens[text] else { throw refused }
        let attemptID = fields["attemptId"]?.string
        if let attemptID, !(1...64).contains(attemptID.unicodeScalars.count) {
            throw .invalid("attemptId", "must have 1 to 64 characters")
        }
        if let attempt = token.attempt, attempt.id == attemptID, isUnused(attempt.answer) {
            return Answer(200, attempt.answer)
        }
        guard !token.isUsed else {
            end(token.family)
            throw refused
        }
        let answer = session(of: token.userID, family: token.family)
        refreshTokens[text]?.isUsed = true
        refreshTokens[text]?.attempt = attemptID.map { ($0, answer) }
        return Answer(200, answer)
    }

    /// Returns true until the refresh token of this answer is used: until then, a repeated refresh gets the same answer.
    private func isUnused(_ answer: JSON) -> Bool {
        answer["refreshToken"]?.string.flatMap { refreshTokens[$0] }?.isUsed == false
    }

    /// Ends a session, with its tokens and the devices that it registered.
    private mutating func end(_ family: Int) {
        refreshTokens = refreshTokens.filter { $0.value.family != family }
        tokens = tokens.filter { $0.value.family != family }
        devices = devices.filter { $0.value.family != family }
    }

    mutating func endSessions(of userID: String) {
        for family in Set(refreshTokens.values.filter { $0.userID == userID }.map(\.family)) { end(family) }
        dismissSockets(of: userID)
    }

    mutating func logOut(_ fields: JSON) throws(Refused) -> Answer {
        if let token = refreshTokens[try fields.required("refreshToken")] {
            end(token.family)
        }
        return Answer(204)
    }

    mutating func session(of userID: String, family: Int) -> JSON {
        let number = nextNumber()
        let (token, refreshToken) = ("token-\(number)", "refresh-\(number)")
        let expiresAt = now + settings.tokenLifetime
        tokens[token] = Token(userID: userID, expiresAt: expiresAt, family: family)
        refreshTokens[refreshToken] = RefreshToken(userID: userID, family: family)
        return .object([
            "token": .string(token), "expiresAt": .string(WireTime.milliseconds(expiresAt)),
            "refreshToken": .string(refreshToken), "user": accounts[userID].map { Self.json($0.person) } ?? .null,
        ])
    }

    /// Returns the person of an access token; nil if the token is missing, unknown or expired.
    func userID(of token: String?) -> String? {
        guard let token, let known = tokens[token], known.expiresAt > now else { return nil }
        return known.userID
    }

    func peopleWithoutRooms(_ userID: String, _ query: [String: String]) throws(Refused) -> Answer {
        let partners = Set(rooms.values.filter { $0.isParticipant(userID) }.flatMap { $0.participants.map(\.userID) })
        let prefix = (query["q"] ?? "").lowercased()
        let limit = try Self.limit(query, standard: 50, max: 200)
        let people = accounts.values.map(\.person).filter { person in
            person.id != userID && !partners.contains(person.id)
                && (prefix.isEmpty || person.username.lowercased().hasPrefix(prefix)
                    || person.firstName?.lowercased().hasPrefix(prefix) == true)
        }.sorted { ($0.username.lowercased(), $0.id) < ($1.username.lowercased(), $1.id) }
        let rest = people.drop { person in query["cursor"].map { person.username.lowercased() <= $0 } ?? false }
        let shown = Array(rest.prefix(limit))
        let next = rest.count > limit ? shown.last?.username.lowercased() : nil
        return Answer(200, .array(shown.map { Self.json($0) }), next: .some(next))
    }

    private func account(named name: String) -> Account? {
        let name = name.lowercased()
        return accounts.values.first {
            $0.person.username.lowercased() == name || $0.person.email?.lowercased() == name
        }
    }
}
