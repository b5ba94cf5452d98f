// The signatures of SwiftUI that Clients/iOS uses, with nothing behind them: so that calls of the client library, and what SwiftUI
// asks of its types (Hashable, Identifiable, RandomAccessCollection), are checked where there is no SwiftUI.
@_exported import Foundation
@_exported import Observation

// MARK: Views

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

/// Stands for whatever a view is made of.
@MainActor
public struct Made: Leaf {}

public protocol Leaf: View where Body == Never {}

extension Leaf {
    public var body: Never { fatalError() }
}

@resultBuilder @MainActor
public enum ViewBuilder {
    public static func buildBlock<each Part: View>(_ parts: repeat each Part) -> Made { Made() }
    public static func buildOptional(_ part: Made?) -> Made { Made() }
    public static func buildEither(first: Made) -> Made { Made() }
    public static func buildEither(second: Made) -> Made { Made() }
    public static func buildExpression<Part: View>(_ part: Part) -> Made { Made() }
}

@MainActor public protocol PreviewProvider {
    associatedtype Previews: View
    @ViewBuilder static var previews: Previews { get }
}

// MARK: Apps

@MainActor @preconcurrency
public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}

@MainActor @preconcurrency public protocol Scene {}
@MainActor public struct WindowGroup: Scene { public init(@ViewBuilder content: () -> some View) {} }

@resultBuilder @MainActor
public enum SceneBuilder {
    public static func buildBlock<Part: Scene>(_ part: Part) -> Part { part }
}

extension Scene {
    public func onChange<Value: Equatable>(
        of value: Value, initial: Bool = false, _ action: @escaping () -> Void
    ) -> some Scene { self }
}

public enum ScenePhase: Equatable, Sendable { case active, inactive, background }
public struct EnvironmentValues { public var scenePhase: ScenePhase { .active } }

// MARK: State

@MainActor @propertyWrapper
public struct State<Value> {
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { fatalError() }
    public init(wrappedValue: Value) {}
}

extension State where Value: ExpressibleByNilLiteral { public init() {} }

@MainActor @propertyWrapper @dynamicMemberLookup
public struct Binding<Value> {
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { self }
    public init(get: @escaping () -> Value, set: @escaping (Value) -> Void) {}
    public subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Binding<Member> { fatalError() }
}

@MainActor @propertyWrapper @dynamicMemberLookup
public struct Bindable<Value: AnyObject & Observable> {
    public var wrappedValue: Value
    public var projectedValue: Bindable<Value> { self }
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public subscript<Member>(dynamicMember path: ReferenceWritableKeyPath<Value, Member>) -> Binding<Member> {
        fatalError()
    }
}

@MainActor @propertyWrapper
public struct Environment<Value> {
    public var wrappedValue: Value { fatalError() }
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
}

// MARK: What views are made of

public enum HorizontalAlignment { case leading, center, trailing }
public enum Font { case headline, caption }
public struct Color { public static var secondary: Color { Color() } }

@MainActor
public struct Text: Leaf {
    public enum DateStyle { case relative }
    public init(_ text: some StringProtocol) {}
    public init(_ date: Date, style: DateStyle) {}
}

@MainActor public struct Spacer: Leaf { public init() {} }
@MainActor public struct ProgressView: Leaf { public init() {} }
@MainActor public struct Image: Leaf { public init(systemName: String) {} }
@MainActor public struct HStack: Leaf { public init(@ViewBuilder content: () -> some View) {} }
@MainActor public struct ZStack: Leaf { public init(@ViewBuilder content: () -> some View) {} }
@MainActor public struct LazyVStack: Leaf { public init(@ViewBuilder content: () -> some View) {} }
@MainActor public struct ScrollView: Leaf { public init(@ViewBuilder content: () -> some View) {} }
@MainActor public struct NavigationStack: Leaf { public init(@ViewBuilder root: () -> some View) {} }

@MainActor
public struct VStack: Leaf {
    public init(alignment: HorizontalAlignment = .center, @ViewBuilder content: () -> some View) {}
}

@MainActor
public struct ScrollViewReader: Leaf {
    public init(@ViewBuilder content: @escaping (ScrollViewProxy) -> some View) {}
}

@MainActor public struct ScrollViewProxy { public func scrollTo<ID: Hashable>(_ id: ID) {} }

@MainActor
public struct ForEach<Data: RandomAccessCollection, ID: Hashable>: Leaf {
    public init(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> some View
    ) {}
}

extension ForEach where Data.Element: Identifiable, ID == Data.Element.ID {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> some View) {}
}

@MainActor
public struct List: Leaf {
    public init(@ViewBuilder content: () -> some View) {}
    public init<Data: RandomAccessCollection>(
        _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> some View
    ) where Data.Element: Identifiable {}
}

@MainActor
public struct NavigationLink: Leaf {
    public init<Value: Hashable>(value: Value?, @ViewBuilder label: () -> some View) {}
}

@MainActor
public struct Button: Leaf {
    public init(_ title: String, action: @escaping @MainActor () -> Void) {}
    public init(_ title: String, systemImage: String, action: @escaping @MainActor () -> Void) {}
}

@MainActor public struct TextField: Leaf { public init(_ title: String, text: Binding<String>) {} }
@MainActor public struct SecureField: Leaf { public init(_ title: String, text: Binding<String>) {} }

@MainActor
public struct Picker: Leaf {
    public init<Value: Hashable>(
        _ title: String, selection: Binding<Value>, @ViewBuilder content: () -> some View
    ) {}
}

// MARK: Gestures

@MainActor public protocol Gesture {}

@MainActor
public struct DragGesture: Gesture {
    public struct Value { public var location: (x: Double, y: Double) }
    public init() {}
    public func onChanged(_ action: @escaping (Value) -> Void) -> some Gesture { self }
}

// MARK: Modifiers

extension View {
    public func navigationTitle(_ title: String) -> some View { Made() }
    public func navigationDestination<Value: Hashable>(
        for type: Value.Type, @ViewBuilder destination: @escaping (Value) -> some View
    ) -> some View { Made() }
    public func toolbar(@ViewBuilder content: () -> some View) -> some View { Made() }
    public func overlay(@ViewBuilder content: () -> some View) -> some View { Made() }
    public func contextMenu(@ViewBuilder menuItems: () -> some View) -> some View { Made() }
    public func sheet(isPresented: Binding<Bool>, @ViewBuilder content: @escaping () -> some View) -> some View {
        Made()
    }
    public func alert<E: LocalizedError>(
        isPresented: Binding<Bool>, error: E?, @ViewBuilder actions: () -> some View
    ) -> some View { Made() }
    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { Made() }
    public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { Made() }
    public func task<ID: Equatable>(
        id: ID, @_inheritActorContext _ action: @escaping @Sendable () async -> Void
    ) -> some View { Made() }
    public func searchable(text: Binding<String>) -> some View { Made() }
    public func onAppear(perform action: @escaping () -> Void) -> some View { Made() }
    public func onDisappear(perform action: @escaping () -> Void) -> some View { Made() }
    public func onSubmit(_ action: @escaping () -> Void) -> some View { Made() }
    public func onChange<Value: Equatable>(
        of value: Value, initial: Bool = false, _ action: @escaping () -> Void
    ) -> some View { Made() }
    public func gesture(_ gesture: some Gesture) -> some View { Made() }
    public func foregroundStyle(_ style: Color) -> some View { Made() }
    public func font(_ font: Font) -> some View { Made() }
    public func opacity(_ opacity: Double) -> some View { Made() }
    public func offset(x: Double, y: Double) -> some View { Made() }
}
