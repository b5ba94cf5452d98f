/// How much more, or less, lies on boards on a person's account.
///
/// An element is on the account of whoever made it, or has made it larger since: nobody can fill up another's.
struct Charge: Sendable, Equatable {
    let userID: String
    let elements: Int
    let bytes: Int
}

extension [Charge] {
    var elements: Int { reduce(0) { $0 + $1.elements } }
    var bytes: Int { reduce(0) { $0 + $1.bytes } }

    /// One for each person whom they change anything for, in the order of ids: two programs that change two rooms of the same
    /// people at once take the people's rows in the same order.
    var byPerson: [Charge] {
        guard count > 1 else { return filter(\.changesAnything) }
        return Dictionary(grouping: self, by: \.userID)
            .map { Charge(userID: $0, elements: $1.elements, bytes: $1.bytes) }
            .filter(\.changesAnything)
            .sorted { $0.userID < $1.userID }
    }
}

extension Charge {
    fileprivate var changesAnything: Bool { elements != 0 || bytes != 0 }
}
