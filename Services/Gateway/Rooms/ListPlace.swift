/// Where something stands in a list: the latest first; of two equally late the later made one first.
struct ListPlace: Comparable, Sendable {
    /// What it is sorted by, in milliseconds since 1970.
    let time: Int
    let id: String

    static func < (one: ListPlace, other: ListPlace) -> Bool { (one.time, one.id) > (other.time, other.id) }
}
