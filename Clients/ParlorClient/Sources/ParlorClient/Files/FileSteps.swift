/// The points at which a test can simulate that the app ends.
enum FileSteps {
    /// Called before each change of a file. A test copies the files here: that is what the next run finds if the app
    /// ends now.
    @TaskLocal static var before: (@Sendable () -> Void)?

    static func note() { before?() }
}
