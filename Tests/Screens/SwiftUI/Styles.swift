public protocol ShapeStyle: Sendable {}

// Like Apple's, it belongs to no actor, because it becomes a view by an extension.
public struct Color: ShapeStyle, Hashable {
    // swift-format-ignore: DontRepeatTypeInStaticProperties
    public static let accentColor = Color()
    public static let red = Color()
    public static let green = Color()
    public static let blue = Color()
    public static let yellow = Color()
    public static let gray = Color()
    public static let white = Color()
    public static let primary = Color()
    public static let clear = Color()
    public func opacity(_ opacity: Double) -> Color { self }
}
extension Color: SystemView {}

extension ShapeStyle where Self == Color {
    public static var red: Color { Color.red }
    public static var green: Color { Color.green }
    public static var white: Color { Color.white }
}

public struct HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}

public struct TintShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == TintShapeStyle { public static var tint: TintShapeStyle { TintShapeStyle() } }

public struct Material: ShapeStyle {}
extension ShapeStyle where Self == Material { public static var bar: Material { Material() } }

public struct FillStyle: Equatable, Sendable { public init() {} }

public nonisolated protocol Shape: Sendable, SystemView {}
public nonisolated protocol InsettableShape: Shape {}
extension Shape {
    public nonisolated func fill<S: ShapeStyle>(
        _ content: S, style: FillStyle = FillStyle()
    ) -> some View { EmptyView() }
}

public struct Circle: InsettableShape { public nonisolated init() {} }
public struct Capsule: InsettableShape { public nonisolated init() {} }
public struct RoundedRectangle: InsettableShape { public nonisolated init(cornerRadius: CGFloat) {} }
extension Shape where Self == Capsule { public static var capsule: Capsule { Capsule() } }
extension Shape where Self == RoundedRectangle {
    public static func rect(cornerRadius: CGFloat) -> RoundedRectangle { RoundedRectangle(cornerRadius: cornerRadius) }
}

public protocol ListStyle {}
public struct PlainListStyle: ListStyle {}
extension ListStyle where Self == PlainListStyle { public static var plain: PlainListStyle { PlainListStyle() } }

@MainActor @preconcurrency public protocol PrimitiveButtonStyle {}
public struct PlainButtonStyle: PrimitiveButtonStyle { public nonisolated init() {} }
public struct BorderedButtonStyle: PrimitiveButtonStyle { public nonisolated init() {} }
extension PrimitiveButtonStyle where Self == PlainButtonStyle { public static var plain: PlainButtonStyle { .init() } }
extension PrimitiveButtonStyle where Self == BorderedButtonStyle {
    public static var bordered: BorderedButtonStyle { .init() }
}

@MainActor @preconcurrency public protocol LabelStyle {}
public struct IconOnlyLabelStyle: LabelStyle { public nonisolated init() {} }
extension LabelStyle where Self == IconOnlyLabelStyle { public static var iconOnly: IconOnlyLabelStyle { .init() } }

public protocol TextFieldStyle {}
public struct RoundedBorderTextFieldStyle: TextFieldStyle { public nonisolated init() {} }
extension TextFieldStyle where Self == RoundedBorderTextFieldStyle {
    public static var roundedBorder: RoundedBorderTextFieldStyle { .init() }
}

public struct HorizontalAlignment: Equatable, Sendable {
    public static let leading = Self()
    public static let center = Self()
    public static let trailing = Self()
}

public struct VerticalAlignment: Equatable, Sendable {
    public static let top = Self()
    public static let center = Self()
    public static let bottom = Self()
    public static let firstTextBaseline = Self()
}

public struct Alignment: Equatable, Sendable {
    public static let leading = Self()
    public static let center = Self()
    public static let trailing = Self()
    public static let topLeading = Self()
    public static let topTrailing = Self()
}

public struct UnitPoint: Hashable, Sendable {
    public static let top = Self()
    public static let bottom = Self()
    public static let topLeading = Self()
}

public enum VerticalEdge: Sendable { case top, bottom }

public enum Edge: Sendable {
    case top, leading, bottom, trailing

    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8
        public init(rawValue: Int8) { self.rawValue = rawValue }
        public static let horizontal = Set(rawValue: 1)
        public static let vertical = Set(rawValue: 2)
        public static let all = Set(rawValue: 3)
    }
}

public enum Axis: Sendable {
    case horizontal, vertical

    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8
        public init(rawValue: Int8) { self.rawValue = rawValue }
        public static let horizontal = Set(rawValue: 1)
        public static let vertical = Set(rawValue: 2)
    }
}
