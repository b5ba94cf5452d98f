import ParlorContracts
import ParlorMessageBus

extension LogLayout {
    /// Returns the number of a room's log. SERVICE-PROTOCOL.md has vectors.
    public func number(ofRoom id: String) -> Int {
        guard count > 1 else { return numbers[0] }
        // Folded, as the low and the high bits of FNV-1a are each even only for some texts.
        let hash = RendezvousHash.hash(id)
        return numbers[Int((hash ^ hash >> 32) % UInt64(count))]
    }
}
