package idemddb

// What is sent, for the tests that change it on its way: whole expressions, and parts of one.
var (
	Conditions = map[string]string{
		"condRenew": condRenew, "condHeld": condHeld, "condOwn": condOwn, "condExtend": condExtend, "condGiveUp": condGiveUp,
		"condFailed": condFailed,
	}
	ConditionParts = map[string]string{
		"condClaim": condClaim, "condReleased": condReleased, "condSameInput": condSameInput, "condAttempts": condAttempts,
	}
	Updates = map[string]string{"updateFail": updateFail, "updateExtend": updateExtend, "updateReopen": updateReopen}

	UpdateParts = map[string]string{
		"updateClaim": updateClaim, "updateSetFP": updateSetFP, "updateDropFP": updateDropFP, "updateComplete": updateComplete,
		"updateSetResult": updateSetResult, "updateDropError": updateDropError, "updateRelease": updateRelease,
		"updateSetError": updateSetError, "updateUnused": updateUnused,
	}
)
