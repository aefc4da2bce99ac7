import AsyncHTTPClient
import X509
import Crypto
import NIOEmbedded
import Testing
@Test func x() {}
