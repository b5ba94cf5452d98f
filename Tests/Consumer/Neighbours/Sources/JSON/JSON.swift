public let nameOfJSON = "JSON of another package"
