import ParlorClient

extension RoomScreen.Entry {
    init(_ item: MessageItem, by author: String, isMine: Bool) {
        self.init(
            author: author, text: item.text, time: item.createdAt.formatted(date: .omitted, time: .shortened),
            isMine: isMine)
        guard isMine else { return }
        switch item.state {
        case .queued, .sending: mark = "…"
        case .stored: mark = "✓"
        case .read: mark = "✓✓"
        case .failed(let failure): (mark, hasFailed) = ("not sent: \(failure.message)", true)
        }
    }
}
