public let nameOfHTTP = "HTTP of another package"
