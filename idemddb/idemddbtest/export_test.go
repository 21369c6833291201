package idemddbtest

// Adopt gives attributes their normal form, for tests that compare answers of several engines.
var Adopt = adopt
