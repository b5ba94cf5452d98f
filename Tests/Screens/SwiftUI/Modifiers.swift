// Layout and looks.
extension View {
    public nonisolated func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View { EmptyView() }
    public nonisolated func padding(_ length: CGFloat) -> some View { EmptyView() }
    public nonisolated func frame(
        width: CGFloat? = nil, height: CGFloat? = nil, alignment: Alignment = .center
    ) -> some View { EmptyView() }
    public nonisolated func frame(
        minWidth: CGFloat? = nil, idealWidth: CGFloat? = nil, maxWidth: CGFloat? = nil, minHeight: CGFloat? = nil,
        idealHeight: CGFloat? = nil, maxHeight: CGFloat? = nil, alignment: Alignment = .center
    ) -> some View { EmptyView() }
    public nonisolated func offset(_ offset: CGSize) -> some View { EmptyView() }
    public nonisolated func offset(x: CGFloat = 0, y: CGFloat = 0) -> some View { EmptyView() }
    public nonisolated func opacity(_ opacity: Double) -> some View { EmptyView() }
    public nonisolated func font(_ font: Font?) -> some View { EmptyView() }
    public nonisolated func lineLimit(_ number: Int?) -> some View { EmptyView() }
    public nonisolated func minimumScaleFactor(_ factor: CGFloat) -> some View { EmptyView() }
    public nonisolated func lineLimit(_ limit: ClosedRange<Int>) -> some View { EmptyView() }
    public nonisolated func monospacedDigit() -> some View { EmptyView() }
    public nonisolated func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { EmptyView() }
    public nonisolated func tint(_ tint: Color?) -> some View { EmptyView() }
    public nonisolated func background<S: ShapeStyle>(
        _ style: S, ignoresSafeAreaEdges edges: Edge.Set = .all
    ) -> some View { EmptyView() }
    public nonisolated func background<S: ShapeStyle, T: InsettableShape>(
        _ style: S, in shape: T, fillStyle: FillStyle = FillStyle()
    ) -> some View { EmptyView() }
    public nonisolated func background<V: View>(
        alignment: Alignment = .center, @ViewBuilder content: () -> V
    ) -> some View { EmptyView() }
    public nonisolated func overlay<V: View>(
        alignment: Alignment = .center, @ViewBuilder content: () -> V
    ) -> some View { EmptyView() }
    public nonisolated func safeAreaInset<V: View>(
        edge: VerticalEdge, alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
        @ViewBuilder content: () -> V
    ) -> some View { EmptyView() }
    public nonisolated func listStyle<S: ListStyle>(_ style: S) -> some View { EmptyView() }
    public nonisolated func buttonStyle<S: PrimitiveButtonStyle>(_ style: S) -> some View { EmptyView() }
    public nonisolated func labelStyle<S: LabelStyle>(_ style: S) -> some View { EmptyView() }
    public nonisolated func textFieldStyle<S: TextFieldStyle>(_ style: S) -> some View { EmptyView() }
    public nonisolated func id<ID: Hashable>(_ id: ID) -> some View { EmptyView() }
    public nonisolated func tag<V: Hashable>(_ tag: V, includeOptional: Bool = true) -> some View { EmptyView() }
    public nonisolated func badge(_ count: Int) -> some View { EmptyView() }
    public nonisolated func tabItem<V: View>(@ViewBuilder _ label: () -> V) -> some View { EmptyView() }
    public nonisolated func disabled(_ disabled: Bool) -> some View { EmptyView() }
}

// What happens.
extension View {
    public nonisolated func onAppear(perform action: (() -> Void)? = nil) -> some View { EmptyView() }
    public nonisolated func onDisappear(perform action: (() -> Void)? = nil) -> some View { EmptyView() }
    public nonisolated func task(
        priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: @escaping @Sendable () async -> Void
    ) -> some View { EmptyView() }
    public nonisolated func task<T: Equatable>(
        id value: T, priority: TaskPriority = .userInitiated,
        @_inheritActorContext _ action: @escaping @Sendable () async -> Void
    ) -> some View { EmptyView() }
    // Unlike the action of `task`, this one inherits no actor on Apple's systems.
    public nonisolated func onOpenURL(perform action: @escaping (URL) -> Void) -> some View { EmptyView() }
    public nonisolated func refreshable(action: @escaping @Sendable () async -> Void) -> some View { EmptyView() }
    public nonisolated func onChange<V: Equatable>(
        of value: V, initial: Bool = false, _ action: @escaping (_ oldValue: V, _ newValue: V) -> Void
    ) -> some View { EmptyView() }
    public nonisolated func onChange<V: Equatable>(
        of value: V, initial: Bool = false, _ action: @escaping () -> Void
    ) -> some View { EmptyView() }
    public nonisolated func onTapGesture(
        count: Int = 1, perform action: @escaping () -> Void
    ) -> some View { EmptyView() }
    public nonisolated func gesture<T: Gesture>(_ gesture: T) -> some View { EmptyView() }
    public nonisolated func onSubmit(
        of triggers: SubmitTriggers = .text, _ action: @escaping () -> Void
    ) -> some View { EmptyView() }
    public nonisolated func onGeometryChange<T: Equatable & Sendable>(
        for type: T.Type, of transform: @escaping @Sendable (GeometryProxy) -> T,
        action: @escaping (_ newValue: T) -> Void
    ) -> some View { EmptyView() }
    public nonisolated func keyboardShortcut(
        _ key: KeyEquivalent, modifiers: EventModifiers = .command
    ) -> some View { EmptyView() }
}

public struct GeometryProxy {
    public func bounds(of coordinateSpace: NamedCoordinateSpace) -> CGRect? { nil }
    public func frame(in coordinateSpace: some CoordinateSpaceProtocol) -> CGRect { .zero }
}

public protocol CoordinateSpaceProtocol {}

public struct NamedCoordinateSpace: CoordinateSpaceProtocol {}

extension CoordinateSpaceProtocol where Self == NamedCoordinateSpace {
    public static var scrollView: NamedCoordinateSpace { NamedCoordinateSpace() }
}

public struct SubmitTriggers: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let text = SubmitTriggers(rawValue: 1)
}

public struct KeyEquivalent: Sendable { public static let `return` = KeyEquivalent() }

public struct EventModifiers: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let command = EventModifiers(rawValue: 16)
}

// Typing.
extension View {
    public nonisolated func textContentType(_ textContentType: UITextContentType?) -> some View { EmptyView() }
    public nonisolated func textInputAutocapitalization(
        _ autocapitalization: TextInputAutocapitalization?
    ) -> some View { EmptyView() }
    public nonisolated func autocorrectionDisabled(_ disable: Bool = true) -> some View { EmptyView() }
    public nonisolated func submitLabel(_ submitLabel: SubmitLabel) -> some View { EmptyView() }
    public nonisolated func scrollDismissesKeyboard(_ mode: ScrollDismissesKeyboardMode) -> some View { EmptyView() }
    public nonisolated func defaultScrollAnchor(_ anchor: UnitPoint?) -> some View { EmptyView() }
    public nonisolated func searchable(
        text: Binding<String>, placement: SearchFieldPlacement = .automatic, prompt: LocalizedStringKey
    ) -> some View { EmptyView() }
}

public struct TextInputAutocapitalization: Sendable { public static var never: Self { Self() } }
public struct SubmitLabel: Sendable {
    public static var go: SubmitLabel { SubmitLabel() }
    public static var done: SubmitLabel { SubmitLabel() }
}
public struct ScrollDismissesKeyboardMode: Sendable { public static var interactively: Self { Self() } }
public struct SearchFieldPlacement: Sendable { public static let automatic = SearchFieldPlacement() }
