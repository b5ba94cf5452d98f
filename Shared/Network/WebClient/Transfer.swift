import CParlorCurl
import ParlorWorkers

/// A request while libcurl performs it.
///
/// `@unchecked Sendable`: it is made on the caller's thread, passed to the client's thread through its queue,
/// and used only there from then on.
final class Transfer: @unchecked Sendable {
    typealias Completion = @Sendable (Result<WebResponse, WebFailure>) -> Void

    let request: WebRequest
    private let completion: Completion
    private let askedAt = ContinuousClock.now
    private(set) var startedAt = ContinuousClock.now
    private var fields: UnsafeMutablePointer<curl_slist>?
    private var body: [UInt8] = []
    private var headers: [String: String] = [:]
    private var headerBytes = 0

    init(_ request: WebRequest, completion: @escaping Completion) {
        self.request = request
        self.completion = completion
    }

    /// True if it has waited for its start longer than its timeout.
    var isOverdue: Bool { askedAt + request.timeout <= .now }

    /// Configures a handle for the request. The handle keeps this object alive until `release`.
    func prepare(_ handle: UnsafeMutableRawPointer, _ configuration: WebClient.Configuration) {
        startedAt = .now
        for (name, value) in request.headers { fields = curl_slist_append(fields, "\(name): \(value)") }
        // Headers that libcurl would add and that are not needed; the first would cost a round trip.
        for unwanted in ["Expect:", "Accept:"] { fields = curl_slist_append(fields, unwanted) }
        let pointer = Unmanaged.passRetained(self).toOpaque()
        curl_set_pointer(handle, CURLOPT_URL, request.url)
        curl_set_pointer(handle, CURLOPT_HTTPHEADER, fields)
        curl_set_number(handle, CURLOPT_POSTFIELDSIZE, request.body.count)
        request.body.withUnsafeBytes { curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
        curl_set_pointer(handle, CURLOPT_PRIVATE, pointer)
        curl_set_pointer(handle, CURLOPT_WRITEDATA, pointer)
        curl_set_function(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, pointer in
            Transfer.from(pointer)?.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        curl_set_pointer(handle, CURLOPT_HEADERDATA, pointer)
        curl_set_function(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, pointer in
            Transfer.from(pointer)?.receive(header: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }
        curl_set_number(handle, CURLOPT_HTTP_VERSION, curl_http_version_2_over_tls)
        // A request waits for the connection that is being made, instead of opening another one.
        curl_set_number(handle, CURLOPT_PIPEWAIT, 1)
        curl_set_number(handle, CURLOPT_NOSIGNAL, 1)
        curl_set_number(handle, CURLOPT_TCP_KEEPALIVE, 1)
        curl_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectTimeout / .milliseconds(1)))
        curl_set_number(handle, CURLOPT_TIMEOUT_MS, max(1, Int(request.timeout / .milliseconds(1))))
        curl_allow_web_only(handle)
        // Without this setting, libcurl would take a proxy from the environment.
        curl_set_pointer(handle, CURLOPT_PROXY, "")
        if let file = configuration.authorityFile {
            curl_set_pointer(handle, CURLOPT_CAINFO, file)
            curl_set_pointer(handle, CURLOPT_CAPATH, nil)
        }
    }

    static func from(_ pointer: UnsafeMutableRawPointer?) -> Transfer? {
        pointer.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Releases the request from its handle.
    func release(_ handle: UnsafeMutableRawPointer) {
        curl_easy_reset(handle)
        curl_slist_free_all(fields)
        fields = nil
        Unmanaged.passUnretained(self).release()
    }

    /// Receives a part of the response's body.
    ///
    /// - Returns: the number of bytes taken. Fewer than given end the transfer.
    private func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= WebClient.maxBody else { return 0 }
        body += bytes
        return bytes.count
    }

    private func receive(header bytes: UnsafeRawBufferPointer) -> Int {
        ThreadPriority.giveWay()
        headerBytes += bytes.count
        guard headerBytes <= WebClient.maxHeaders else { return 0 }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return bytes.count }
        let value = bytes[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }.prefix { $0 != 13 && $0 != 10 }
        headers[String(decoding: bytes[..<colon], as: UTF8.self).lowercased()] = String(decoding: value, as: UTF8.self)
        return bytes.count
    }

    // MARK: The end

    func finish(_ handle: UnsafeMutableRawPointer, _ result: CURLcode) {
        guard result == CURLE_OK else { return complete(.failure(Self.failure(result))) }
        var (status, version) = (0, 0)
        curl_get_number(handle, CURLINFO_RESPONSE_CODE, &status)
        curl_get_number(handle, CURLINFO_HTTP_VERSION, &version)
        let asked = curl_get_retry_after(handle)
        complete(
            .success(
                WebResponse(
                    status: status, body: body, headers: headers,
                    httpVersion: version >= curl_http_version_2 ? 2 : 1, retryAfter: asked > 0 ? .seconds(asked) : nil))
        )
    }

    func complete(_ result: Result<WebResponse, WebFailure>) { completion(result) }

    private static func failure(_ code: CURLcode) -> WebFailure {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM:
            .notTrusted(String(cString: curl_easy_strerror(code)))
        default: .connection(String(cString: curl_easy_strerror(code)))
        }
    }
}
