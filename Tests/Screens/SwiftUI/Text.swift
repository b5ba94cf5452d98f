public struct LocalizedStringKey: Equatable, ExpressibleByStringInterpolation {
    public init(_ value: String) {}
    public init(stringLiteral value: String) {}
    public init(stringInterpolation: StringInterpolation) {}

    public struct StringInterpolation: StringInterpolationProtocol {
        public init(literalCapacity: Int, interpolationCount: Int) {}
        public mutating func appendLiteral(_ literal: String) {}
        public mutating func appendInterpolation(_ string: String) {}
        public mutating func appendInterpolation<T: _FormatSpecifiable>(_ value: T) {}
        public mutating func appendInterpolation(_ text: Text) {}
        public mutating func appendInterpolation<F: FormatStyle>(_ input: F.FormatInput, format: F)
        where F.FormatInput: Equatable, F.FormatOutput == String {}
    }
}

/// Apple's protocol covers the standard library's other numbers, too.
public protocol _FormatSpecifiable: Equatable {}
extension Int: _FormatSpecifiable {}
extension Double: _FormatSpecifiable {}

public struct Text: Equatable, Sendable {
    @_disfavoredOverload public init<S: StringProtocol>(_ content: S) {}
    public init(_ key: LocalizedStringKey) {}
    public init(verbatim content: String) {}
    public init<F: FormatStyle>(_ input: F.FormatInput, format: F)
    where F.FormatInput: Equatable, F.FormatOutput == String {}
    public init(_ date: Date, style: DateStyle) {}
    @_disfavoredOverload public init(_ attributedContent: AttributedString) {}

    public struct DateStyle: Sendable { public static let relative = DateStyle() }
}

extension Text: SystemView {}

extension Text {
    public nonisolated func font(_ font: Font?) -> Text { self }
    public nonisolated func foregroundStyle<S: ShapeStyle>(_ style: S) -> Text { self }
    public nonisolated func monospacedDigit() -> Text { self }
}

public struct Font: Hashable, Sendable {
    public static let title = Font()
    public static let headline = Font()
    public static let subheadline = Font()
    public static let footnote = Font()
    public static let caption = Font()
    public static let caption2 = Font()
    public func bold() -> Font { self }
}

public struct Image: Equatable, Sendable { public init(systemName: String) {} }
extension Image: SystemView {}
