import Observation

/// The part of a chat's messages that is visible, and the scrolling through them.
///
/// It shows the newest messages. While it is scrolled up, arriving messages do not move it.
@MainActor @Observable
final class MessageView<Items: RandomAccessCollection> where Items.Element: Identifiable {
    /// Makes a screen of some of the items.
    typealias Draw = (Items.SubSequence) -> RoomScreen

    /// The items that are visible in the last frame; nil while something else is shown.
    @ObservationIgnored private(set) var drawn: Items.SubSequence?
    /// The number of lines by which the view is scrolled up from the newest message.
    private var offset = 0 { didSet { anchor = nil } }
    /// The last visible item of a view that is scrolled up, and the number of its lines below the view; -1 if the day of
    /// the next item is visible below it. It keeps the view in place while the lines below change.
    @ObservationIgnored private var anchor: (id: Items.Element.ID, hiddenLines: Int)?

    func frame(of items: Items, in size: WindowSize, as screen: Draw) -> Frame {
        keepPlace(of: items, in: size, as: screen)
        // Each item has at least one line, so more items cannot be visible.
        let last = items.suffix(size.rows + offset)
        let (frame, count, below) = screen(last).drawn(in: size, scrolledBy: offset)
        let visible = last.dropLast(below).suffix(count)
        drawn = visible
        if offset > 0, anchor == nil, let last = visible.last {
            anchor = (last.id, offset - screen(items.suffix(below)).lineCount(in: size))
        }
        return frame
    }

    /// Notes that something else is shown.
    func hide() { drawn = nil }

    /// If lines were added or removed below a view that is scrolled up, changes the offset by their number.
    private func keepPlace(of items: Items, in size: WindowSize, as screen: Draw) {
        guard let anchor, let index = items.lastIndex(where: { $0.id == anchor.id }) else { return }
        let below = items[items.index(after: index)...]
        let place = screen(below).lineCount(in: size) + anchor.hiddenLines
        if place != offset { offset = place }
    }

    func showNewest() { offset = 0 }

    /// Scrolls so that an item is at the top.
    func show(_ id: Items.Element.ID, of items: Items, in size: WindowSize, as screen: Draw) {
        guard let index = items.firstIndex(where: { $0.id == id }) else { return }
        offset = screen(items[index...]).lastOffset(in: size)
    }

    /// Scrolls up. Only the items that the new view needs are laid out.
    ///
    /// - Returns: true at the top.
    func scrollUp(by lines: Int, of items: Items, in size: WindowSize, as screen: Draw) -> Bool {
        // A message may have arrived since the last frame.
        keepPlace(of: items, in: size, as: screen)
        let wanted = max(0, offset + lines)
        let last = screen(items.suffix(size.rows + wanted)).lastOffset(in: size)
        offset = min(wanted, last)
        return wanted >= last
    }

    func scrollDown(by lines: Int, of items: Items, in size: WindowSize, as screen: Draw) {
        keepPlace(of: items, in: size, as: screen)
        offset = max(0, offset - lines)
    }
}
