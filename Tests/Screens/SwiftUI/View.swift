// What the screens use of Apple's SwiftUI: its signatures, and nothing behind them.
@_exported import Foundation
@_exported import Observation
@_exported import UIKit

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: View {
    public typealias Body = Never
    // `return` keeps the builders of other protocols out of it.
    public var body: Never { return fatalError("a shim") }
}

/// A view of the system, which has no body.
public protocol SystemView: View where Body == Never {}
extension SystemView { public var body: Never { fatalError("a shim") } }

extension Optional: View where Wrapped: View {
    public typealias Body = Never
    public var body: Never { fatalError("a shim") }
}

public struct EmptyView: SystemView { public nonisolated init() {} }
public struct AnyView: SystemView { public nonisolated init<V: View>(_ view: V) {} }
public struct TupleView<T> {}
extension TupleView: SystemView {}
public struct _ConditionalContent<TrueContent, FalseContent> {}
extension _ConditionalContent: SystemView {}

@resultBuilder public struct ViewBuilder {
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> TupleView<(repeat each Content)> { TupleView() }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<TrueContent: View, FalseContent: View>(
        first: TrueContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { _ConditionalContent() }
    public static func buildEither<TrueContent: View, FalseContent: View>(
        second: FalseContent
    ) -> _ConditionalContent<TrueContent, FalseContent> { _ConditionalContent() }
    public static func buildLimitedAvailability<Content: View>(_ content: Content) -> AnyView { AnyView(content) }
}

@MainActor @preconcurrency public protocol ViewModifier {
    associatedtype Body: View
    typealias Content = _ViewModifier_Content<Self>
    @ViewBuilder @MainActor @preconcurrency func body(content: Content) -> Body
}

public struct _ViewModifier_Content<Modifier: ViewModifier>: SystemView {}

public struct ModifiedContent<Content, Modifier> {}
extension ModifiedContent: View where Content: View, Modifier: ViewModifier {
    public typealias Body = Never
    public var body: Never { fatalError("a shim") }
}

extension View {
    public nonisolated func modifier<T>(_ modifier: T) -> ModifiedContent<Self, T> { ModifiedContent() }
}
