// Package apigateway shows lambdawrap.HTTP behind Amazon API Gateway with awslabs' httpadapter. It is a module of its own, because no user
// of the library needs the adapter. It has tests only.
package apigateway
