import Foundation
import ParlorClient

/// Converts between the positions of a board's elements and places on the screen.
///
/// Positions may be negative. The layout shifts all of them, so that the leftmost and the topmost element touch the
/// margin. Elements without a position are arranged in columns.
struct BoardLayout: Equatable {
    static let margin = 24.0
    /// The largest coordinate. Larger ones are clamped, so that one stray element does not make the board huge.
    static let reach = 20_000.0
    private static let columns = 3
    private static let gap = 16.0

    /// The size of the whole board.
    let size: CGSize
    /// The upper left corner of each item on the canvas.
    private let places: [BoardItem.ID: CGPoint]
    private let origin: CGPoint

    init(_ items: [BoardItem]) {
        var frames: [(id: BoardItem.ID, frame: CGRect)] = []
        var unplaced = 0
        for item in items {
            let size = item.element.size
            let corner: CGPoint
            if let position = item.element.position {
                corner = CGPoint(x: Self.clamp(position.x), y: Self.clamp(position.y))
            } else {
                corner = Self.place(unplaced)
                unplaced += 1
            }
            frames.append((item.id, CGRect(origin: corner, size: size)))
        }
        let start = CGPoint(x: frames.map(\.frame.minX).min() ?? 0, y: frames.map(\.frame.minY).min() ?? 0)
        let end = CGPoint(x: frames.map(\.frame.maxX).max() ?? 0, y: frames.map(\.frame.maxY).max() ?? 0)
        let origin = CGPoint(x: start.x - Self.margin, y: start.y - Self.margin)
        self.origin = origin
        size = CGSize(width: end.x - origin.x + Self.margin, height: end.y - origin.y + Self.margin)
        places = Dictionary(
            frames.map { ($0.id, CGPoint(x: $0.frame.minX - origin.x, y: $0.frame.minY - origin.y)) }
        ) { $1 }
    }

    /// Returns the place of an item's upper left corner on the canvas.
    func place(of id: BoardItem.ID) -> CGPoint { places[id] ?? CGPoint(x: Self.margin, y: Self.margin) }

    /// Returns the position that an item has after a drag, for the server.
    func position(of id: BoardItem.ID, movedBy offset: CGSize) -> Element.Position {
        let place = place(of: id)
        return Element.Position(x: place.x + offset.width + origin.x, y: place.y + offset.height + origin.y)
    }

    /// A position below all elements.
    var freePosition: Element.Position {
        let below = places.isEmpty ? 0 : size.height - 2 * Self.margin + Self.gap
        return Element.Position(x: origin.x + Self.margin, y: origin.y + Self.margin + below)
    }

    private static func place(_ index: Int) -> CGPoint {
        CGPoint(
            x: Double(index % columns) * (Element.defaultSize.width + gap),
            y: Double(index / columns) * (Element.defaultSize.height + gap))
    }

    private static func clamp(_ value: Double) -> Double { value.isFinite ? min(max(value, -reach), reach) : 0 }
}
