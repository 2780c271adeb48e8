/** A body that was encrypted with `dispatcher-test-key`, IV 00 01 .. 0f. */
export const vector2 =
  'AAECAwQFBgcICQoLDA0ODx6c/BWd0OtCGARvnKY/YvUXvajgW3VdCB+oa1J3qXJBfM50t7Ijk0gR2eqhnfuvRYlQTFtTJkWRqGU++QZqJfNm2ECjxE3C' +
  'HAzsHS5Vt5pUlNLdeq5MNTgZv5SCVl8h8ggTpBZg/htSFpQEXPEW71R8ygpTg7vYDK6kMLVtMX1Nyp89c2gjfomOJAOwReswcwAuVAQ8pjW8XnnK8oclMK' +
  'irWmTyqdRjRUUy9TaGu4oIrfAu5zUjggQ73k4cZ88WKBctOToWiE/ZwV1dqDfdBgJvW3wMIbYsjynrOKTJiUQ1';

/** What is in it. */
export const plain2 =
  '{"schema":"2.0","header":{"event_id":"evt_demo_0001","event_type":"im.message.receive_v1",' +
  '"create_time":"1700000000123","token":"vt_demo","app_id":"cli_0123456789abcdef","tenant_key":"tk_demo"},' +
  '"event":{"note":"中文/é"}}';

/** Signature headers of a body that holds it, with timestamp 1700000001 and nonce n-42. */
export const vectorHeaders = (signature: string) => ({
  'x-lark-request-timestamp': '1700000001',
  'x-lark-request-nonce': 'n-42',
  'x-lark-signature': signature,
});

/** The body without a space after its colon, and with one: two signatures. */
export const tight = {
  body: `{"encrypt":"${vector2}"}`,
  signature: 'd1c450543aec6ee59952738c450bf8e05d358e7db654d48ee6ac95f1be1ebf23',
};
export const spaced = {
  body: `{"encrypt": "${vector2}"}`,
  signature: 'a1619e7774b1f833f79ca2d1e2071576231ed77cff5c10a9ff7a2208b10b09d0',
};
