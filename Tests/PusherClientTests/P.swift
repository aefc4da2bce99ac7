import AsyncHTTPClient
import Crypto
import NIOEmbedded
import Testing
import X509

@Test func x() {}
