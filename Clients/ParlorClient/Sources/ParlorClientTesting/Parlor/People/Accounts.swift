import ParlorClient

/// The people, with their passwords.
struct Accounts: Sendable {
    private var people: [String: Person] = [:]
    private var passwords: [String: String] = [:]

    subscript(userID: String) -> Person? { people[userID] }

    /// Returns people in the order given, each once.
    func people(_ ids: [String]) throws(Refused) -> [Person] {
        var found: [Person] = []
        for id in ids where !found.contains(where: { $0.id == id }) {
            guard let person = people[id] else { throw .notFound("user") }
            found.append(person)
        }
        return found
    }

    mutating func add(
        _ username: String, firstName: String?, email: String?, password: String, _ numbers: inout Numbers
    ) -> Person {
        let id = numbers.makeID(at: numbers.stamp())
        let person = Person(id: id, username: username, firstName: firstName, email: email)
        people[id] = person
        passwords[id] = password
        return person
    }

    mutating func register(_ fields: JSON, _ numbers: inout Numbers) throws(Refused) -> Person {
        let username = try fields.required("username")
        guard (3...32).contains(username.count),
            username.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "_.-".contains($0)) })
        else { throw .invalid("username", "has to have 3 to 32 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`") }
        let password = try fields.required("password")
        guard (8...128).contains(password.utf8.count) else { throw .invalid("password", "must have 8 to 128 bytes") }
        guard person(named: username) == nil else {
            throw Refused(status: 409, code: "username_taken", message: "Somebody has that name.")
        }
        let email = fields["email"]?.string
        if let email, person(named: email) != nil {
            throw Refused(status: 409, code: "email_taken", message: "Somebody has that address.")
        }
        return add(username, firstName: fields["firstName"]?.string, email: email, password: password, &numbers)
    }

    func logIn(_ fields: JSON) throws(Refused) -> Person {
        let (username, password) = (try fields.required("username"), try fields.required("password"))
        guard let person = person(named: username), passwords[person.id] == password else {
            throw Refused(status: 401, code: "invalid_credentials", message: "Name or password is wrong.")
        }
        return person
    }

    /// Returns a page of the people who are not excluded.
    func page(_ query: Query, without excluded: Set<String>) throws(Refused) -> Answer {
        let prefix = (query["q"] ?? "").lowercased()
        let limit = try query.limit(standard: 50, max: 200)
        let found = people.values.filter { person in
            !excluded.contains(person.id)
                && (prefix.isEmpty || person.username.lowercased().hasPrefix(prefix)
                    || person.firstName?.lowercased().hasPrefix(prefix) == true)
        }.sorted { ($0.username.lowercased(), $0.id) < ($1.username.lowercased(), $1.id) }
        let rest = found.drop { person in query["cursor"].map { person.username.lowercased() <= $0 } ?? false }
        let shown = rest.prefix(limit)
        let next = rest.count > limit ? shown.last?.username.lowercased() : nil
        return Answer(200, .array(shown.map { $0.json() }), next: .some(next))
    }

    private func person(named name: String) -> Person? {
        let name = name.lowercased()
        return people.values.first { $0.username.lowercased() == name || $0.email?.lowercased() == name }
    }
}
