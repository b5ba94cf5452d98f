// swift-format-ignore-file: AlwaysUseLowerCamelCase

// On Apple's systems this is part of Foundation.
@_exported import FoundationNetworking

public let F_FULLFSYNC: Int32 = 51
