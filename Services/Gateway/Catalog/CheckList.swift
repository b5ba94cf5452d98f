import ParlorContracts
import ParlorMessageBus
import ParlorServiceKit

/// The checks that the operator wants (`CHECKS`). All others are ignored. If one of these is not announced,
/// the requests that it checks are denied.
package struct CheckList: Sendable, Equatable {
    package struct Item: Sendable, Hashable {
        package let service: String
        /// The subject of the requests that are checked, or `RequestCheck.join`.
        package let before: String
    }

    package let items: Set<Item>

    /// Reads `words:messaging.send,words:room:join`, or `none` for a list without checks. nil for another text.
    package init?(_ text: String) {
        if text == "none" {
            items = []
            return
        }
        let items = text.settingList.map { Item($0) }
        guard !items.contains(nil), Set(items).count == items.count else { return nil }
        self.items = Set(items.compactMap(\.self))
    }
}

extension CheckList.Item {
    /// Reads `SERVICE:REQUEST`. The request may have a colon too.
    fileprivate init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, SubjectGrammar.isQueue(String(parts[0])), Self.isRequest(parts[1]) else { return nil }
        self.init(service: String(parts[0]), before: String(parts[1]))
    }

    private static func isRequest(_ text: Substring) -> Bool {
        text == RequestCheck.join || (text.contains(".") && SubjectGrammar.isSubject(String(text)))
    }
}
