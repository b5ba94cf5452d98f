public let nameOfLogging = "Logging of another package"
